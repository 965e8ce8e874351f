import Netwatch
import NetwatchStream

/// An app that reports its requests. Each line of stdin is an order: `begin`, `end`.
enum Reporter {
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
}
