/// The values that a source of paths writes and a ``NetworkMonitor`` reads. The source does not hold the monitor.
package final class MonitorFeed: Sendable {
  package let broadcast: Broadcast<NetworkPath, NetworkMonitorError>
  package let statistics: Lock<MonitorStatistics>

  package init(_ path: NetworkPath, _ statistics: MonitorStatistics) {
    broadcast = Broadcast(path)
    self.statistics = Lock(statistics)
  }

  /// Ends the monitor: publishes a last path with the status `unknown`, then the error.
  package func fail(_ error: NetworkMonitorError) {
    broadcast.publish(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []))
    broadcast.end(.failure(error))
  }
}
