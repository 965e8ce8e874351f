import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchLog

/// `netwatch log`: prints the contents of the log.
struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print the changes in the log, or the outages.",
    discussion: """
      netwatch --follow --log and netwatch serve --log write the log.

      Exit status: 0 done, 2 there is no log or it cannot be read, 64 wrong usage.
      """)

  @OptionGroup var selection: LogSelection

  @Flag(help: "Print the outages instead of the changes.")
  var outages = false

  @Flag(help: "Print JSON lines.")
  var json = false

  @Flag(help: "Print CSV; the first line has the names of the columns.")
  var csv = false

  mutating func validate() throws {
    if json, csv { throw ValidationError("--json and --csv contradict each other; give one.") }
  }

  func run() throws {
    try reporting {
      let contents = try selection.contents()
      let start = selection.start()
      let records = LogRecords()
      if json {
        try outages
          ? print(contents.history.since(start).outages, records.json)
          : print(contents.entries(since: start), records.json)
      } else if csv {
        try Output.write((outages ? LogRecords.outageColumns : LogRecords.entryColumns) + "\n")
        try outages
          ? print(contents.history.since(start).outages, records.csv)
          : print(contents.entries(since: start), records.csv)
      } else {
        let text = LogText(isUnicode: Output.isUnicode)
        let history = contents.history.since(start)
        try outages ? print(history.outages, text.line) : print(contents.entries(since: start), text.line)
        try Output.write(text.summary(history) + "\n")
      }
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
