import Netwatch
import NetwatchStream

/// An app of the service.
enum Reporter {
  /// Reports its requests. Each line of stdin is an order: `begin`, `end`.
  static func run() throws {
    let indicator = ActivityIndicator()
    let reporter = try ActivityReporter(of: indicator)
    var running = 0
    while let order = readLine() {
      if order == "end" { indicator.ended(RequestID("\(running)")) }
      running += order == "begin" ? 1 : -1
      if order == "begin" { indicator.began(RequestID("\(running)"), isIndicated: true) }
      say("running \(indicator.count)")
    }
    withExtendedLifetime(reporter) {}
  }

  /// Reads the events: a line for each one, with its status, reason and number of requests.
  static func read() async throws {
    for await record in try EventStream() {
      say("\(record.path.status.rawValue) \(record.reason) \(record.activity.inFlight)")
    }
  }
}
