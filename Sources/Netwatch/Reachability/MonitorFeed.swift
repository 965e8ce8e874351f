/// What a source of paths writes and a ``NetworkMonitor`` reads. The source does not hold the monitor.
package final class MonitorFeed: Sendable {
  package let broadcast: Broadcast<NetworkPath, NetworkMonitorError>
  package let statistics: Lock<MonitorStatistics>

  package init(_ path: NetworkPath, _ statistics: MonitorStatistics) {
    broadcast = Broadcast(path)
    self.statistics = Lock(statistics)
  }

  /// Ends the monitor: a last path that claims nothing, then the error.
  package func fail(_ error: NetworkMonitorError) {
    broadcast.publish(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []))
    broadcast.end(.failure(error))
  }
}

/// Why a monitor could not start, or had to end.
public struct NetworkMonitorError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call that failed, as in its manual page.
  public let operation: String
  /// The system's error number.
  public let code: Int32
  /// One sentence for a person.
  public let description: String

  package init(operation: String, code: Int32, description: String) {
    self.operation = operation
    self.code = code
    self.description = description
  }
}
