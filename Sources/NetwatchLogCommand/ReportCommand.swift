import Netwatch
import NetwatchEventLoop
import NetwatchLog
import NetwatchOptions

/// `netwatch report`: writes a web page about the time in the log.
struct ReportCommand {
  let options: LogOptions

  func run() throws -> ProcessEnding {
    let selection = try LogSelection(options)
    let path = options.page
    if path.isEmpty { throw UsageError("report needs the name of a file, such as network.html.") }
    let start = selection.start(default: "30d")
    let contents = try selection.contents(since: start)
    let history = contents.history.since(start)
    let page = HTMLReport(history, traffic: contents.traffic, now: LogMoment.now.wall).text
    if path == "-" { try Output.write(page) } else { try NewFile.write(page, to: path) }
    return .exited(0)
  }
}
