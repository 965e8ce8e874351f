/// The present value and each new one, such as the paths of a ``NetworkMonitor``. A slow reader is given the latest one.
public struct LatestValues<Value: Sendable & Equatable, Failure: Error>: AsyncSequence, Sendable {
  public typealias Element = Value

  let broadcast: Broadcast<Value, Failure>
  /// A `for` loop over the values of what nobody else holds must not be over at once.
  let owner: any AnyObject & Sendable

  public struct Iterator: AsyncIteratorProtocol {
    private let owner: any AnyObject & Sendable
    private let reader: BroadcastReader<Value, Failure>
    private var isOver = false

    init(_ values: LatestValues) {
      owner = values.owner
      reader = BroadcastReader(values.broadcast, initial: true)
    }

    public mutating func next() async throws(Failure) -> Value? { try await next(isolation: #isolation) }

    public mutating func next(isolation: isolated (any Actor)?) async throws(Failure) -> Value? {
      if isOver { return nil }
      do throws(Failure) {
        let value = try await reader.next(isolation: isolation)
        isOver = value == nil
        return value
      } catch {
        isOver = true
        throw error
      }
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }
}
