import Netwatch
import NetwatchStream

/// The two sides of the service's stream: an app that reports requests, and a reader of events.
enum Reporter {
  /// Reports requests to the service. Each line of stdin is an order: `begin` or `end`. Prints the number of requests
  /// that run.
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

  /// Reads the events of the service. Prints a line for each one: its status, its reason and the number of requests in
  /// flight.
  static func read() async throws {
    for await record in try EventStream() {
      say("\(record.path.status.rawValue) \(record.reason) \(record.activity.inFlight)")
    }
  }
}
