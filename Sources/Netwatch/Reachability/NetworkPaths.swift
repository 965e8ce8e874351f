/// The paths of a ``NetworkMonitor``, as they come.
public struct NetworkPaths: AsyncSequence, Sendable {
  public typealias Element = NetworkPath
  public typealias Failure = NetworkMonitorError

  let monitor: NetworkMonitor
  let broadcast: Broadcast<NetworkPath, NetworkMonitorError>

  public struct Iterator: AsyncIteratorProtocol {
    // A `for` loop over the paths of a monitor that nobody else holds must not be over at once.
    private let monitor: NetworkMonitor
    private let reader: BroadcastReader<NetworkPath, NetworkMonitorError>
    private var isOver = false

    init(_ paths: NetworkPaths) {
      monitor = paths.monitor
      reader = BroadcastReader(paths.broadcast, initial: true)
    }

    public mutating func next() async throws(NetworkMonitorError) -> NetworkPath? {
      try await next(isolation: #isolation)
    }

    public mutating func next(
      isolation: isolated (any Actor)?
    ) async throws(NetworkMonitorError) -> NetworkPath? {
      if isOver { return nil }
      do throws(NetworkMonitorError) {
        let path = try await reader.next(isolation: isolation)
        isOver = path == nil
        return path
      } catch {
        isOver = true
        throw error
      }
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }
}
