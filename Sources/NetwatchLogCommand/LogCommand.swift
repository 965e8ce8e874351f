import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLog
import NetwatchOptions

/// `netwatch log`: prints the contents of the log.
struct LogCommand {
  let options: LogOptions

  func run() throws -> ProcessEnding {
    if options.isJSON, options.isCSV { throw UsageError("--json and --csv contradict each other; give one.") }
    let selection = try LogSelection(options)
    let start = selection.start()
    let contents = try selection.contents(since: start)
    let records = LogRecords()
    if options.isJSON {
      try options.showsOutages
        ? print(contents.history.since(start).outages, records.json)
        : print(contents.entries(since: start), records.json)
    } else if options.isCSV {
      try Output.write((options.showsOutages ? LogRecords.outageColumns : LogRecords.entryColumns) + "\n")
      try options.showsOutages
        ? print(contents.history.since(start).outages, records.csv)
        : print(contents.entries(since: start), records.csv)
    } else {
      let text = LogText(isUnicode: Output.isUnicode)
      let history = contents.history.since(start)
      try options.showsOutages ? print(history.outages, text.line) : print(contents.entries(since: start), text.line)
      try Output.write(text.summary(history) + "\n")
    }
    return .exited(0)
  }

  /// Prints a line for each value, some hundred lines in each write.
  private func print<Value>(_ values: [Value], _ line: (Value) -> String) throws(SystemError) {
    var text = ""
    for value in values {
      text += line(value) + "\n"
      guard text.utf8.count > 32_768 else { continue }
      try Output.write(text)
      text = ""
    }
    try Output.write(text)
  }
}
