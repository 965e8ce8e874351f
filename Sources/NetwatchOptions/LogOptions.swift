import Netwatch

/// The options of `netwatch log` and `netwatch report`.
package struct LogOptions: Sendable {
  /// The periods of which the bytes are printed.
  package enum TrafficPeriod: String, CaseIterable, Sendable {
    case day, month
  }

  /// The time from which on the log is read, as the user wrote it; nil for the standard one.
  package var since: String?
  /// The path of the log; nil for the user's own, otherwise that of the service.
  package var file: String?
  package var showsOutages = false
  /// The periods of which the bytes are printed; nil for none.
  package var traffic: TrafficPeriod?
  package var isJSON = false
  package var isCSV = false
  /// The path of the page; empty for `log`.
  package var page = ""

  package init() {}

  @OptionTable<LogOptions> package static var options: [Option<LogOptions>] {
    Option.text(
      "--since", value: "when", of: [.log, .report],
      help: "Start this long ago, such as 90m, 12h, 7d or 4w; or at a date such as 2026-11-24, today or yesterday."
    ) { $0.since = $1 }
    Option.text("--file", value: "path", of: [.log, .report], help: "Read this log.") { $0.file = $1 }
      .standard("your own log, otherwise that of the system service").suggesting(.files)
    Option.flag("--outages", of: [.log], help: "Print the outages instead of the changes.") { $0.showsOutages = $1 }
    Option.choice(
      "--traffic", value: "day|month", of: [.log], help: "Print the bytes of each day or month instead of the changes."
    ) {
      $0.traffic = $1
    }
    Option.flag("--json", of: [.log], help: "Print JSON lines.") { $0.isJSON = $1 }
    Option.flag("--csv", of: [.log], help: "Print CSV; the first line has the names of the columns.") { $0.isCSV = $1 }
    Option.operand(
      "file", of: [.report],
      help: "Write the page to this file, which is replaced if it exists; - is standard output.",
      by: { path throws(PlainError) in path }
    ) { $0.page = $1 }
    .required().suggesting(.files)
  }
}
