import ArgumentParser
import Netwatch
import NetwatchLog

/// `netwatch report`: writes a web page about the time in the log.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Write a web page about the outages and changes in the log.",
    discussion: """
      The page is one file without scripts, and loads nothing. It contains the names of WiFi networks, which reveal where you \
      were. Without --since, it covers the last 30 days.

      Exit status: 0 done, 2 there is no log, or the page cannot be written, 64 wrong usage.
      """)

  @OptionGroup var selection: LogSelection

  @Argument(
    help: ArgumentHelp(
      "Write the page to this file, which is replaced if it exists; - is standard output.", valueName: "file"),
    completion: .file(extensions: ["html"]))
  var path: String

  mutating func validate() throws {
    if path.isEmpty { throw ValidationError("report needs the name of a file, such as network.html.") }
  }

  func run() throws {
    try reporting {
      let contents = try selection.contents()
      let history = contents.history.since(selection.start(default: "30d"))
      let page = HTMLReport(history, traffic: contents.traffic, now: LogMoment.now.wall).text
      if path == "-" { try Output.write(page) } else { try NewFile.write(page, to: path) }
    }
  }
}
