/// The visibility of an ``ActivityIndicator``, as it changes.
public struct ActivityVisibility: AsyncSequence, Sendable {
  public typealias Element = Bool
  public typealias Failure = Never

  let indicator: ActivityIndicator
  let broadcast: Broadcast<Bool, Never>

  public struct Iterator: AsyncIteratorProtocol {
    private let indicator: ActivityIndicator
    private let reader: BroadcastReader<Bool, Never>

    init(_ visibility: ActivityVisibility) {
      indicator = visibility.indicator
      reader = BroadcastReader(visibility.broadcast, initial: true)
    }

    public mutating func next() async -> Bool? { await reader.next(isolation: #isolation) }
    public mutating func next(isolation: isolated (any Actor)?) async -> Bool? {
      await reader.next(isolation: isolation)
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }
}
