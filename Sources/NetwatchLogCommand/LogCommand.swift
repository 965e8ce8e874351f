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
    if options.showsOutages, options.traffic != nil {
      throw UsageError("--outages and --traffic contradict each other; give one.")
    }
    let selection = try LogSelection(options)
    let start = selection.start()
    let contents = try selection.contents(since: start)
    let (records, text) = (LogRecords(), LogText(isUnicode: Output.isUnicode))
    if let period = options.traffic {
      let isByMonth = period == .month
      let sums = PeriodTraffic.sums(of: contents.traffic, byMonth: isByMonth)
      let columns = LogRecords.trafficColumns(byMonth: isByMonth)
      try print(sums, columns, records.json, records.csv, text.line) { text.summary(sums) }
    } else if options.showsOutages {
      let history = contents.history.since(start)
      try print(history.outages, LogRecords.outageColumns, records.json, records.csv, text.line) {
        text.summary(history)
      }
    } else {
      try print(contents.entries(since: start), LogRecords.entryColumns, records.json, records.csv, text.line) {
        text.summary(contents.history.since(start))
      }
    }
    return .exited(0)
  }

  /// Prints values in the format of the options. Text ends with a summary.
  private func print<Value>(
    _ values: [Value], _ columns: String, _ json: (Value) -> String, _ csv: (Value) -> String,
    _ text: (Value) -> String,
    summary: () -> String
  ) throws(SystemError) {
    if options.isJSON {
      try print(values, json)
    } else if options.isCSV {
      try Output.write(columns + "\n")
      try print(values, csv)
    } else {
      try print(values, text)
      try Output.write(summary() + "\n")
    }
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
