import ArgumentParser
import Netwatch
import NetwatchLog

/// `netwatch report`: a web page about the time in the log.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Write a web page about the time in the log.",
    discussion: """
      The page is one file, which loads nothing and needs no script. It has the names of WiFi networks, which tell where you \
      were. Without --since it is about the last 30 days.

      Exit status: 0 done, 2 there is no log, or the page cannot be written, 64 wrong usage.
      """)

  @OptionGroup var selection: LogSelection

  @Argument(
    help: ArgumentHelp(
      "Where the page goes; a file that is there is replaced. - is standard output.", valueName: "file"),
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
