/// The current value and each new one, such as the paths of a ``NetworkMonitor``. A slow reader gets only the newest value.
package struct LatestValues<Value: Sendable & Equatable, Failure: Error>: AsyncSequence, Sendable {
  /// The type of the values.
  package typealias Element = Value

  let broadcast: Broadcast<Value, Failure>
  /// The object that sends the values. Without this reference, a `for` loop over the values of an object that nobody else
  /// holds would end at once.
  let owner: any AnyObject & Sendable

  package init(broadcast: Broadcast<Value, Failure>, owner: any AnyObject & Sendable) {
    self.broadcast = broadcast
    self.owner = owner
  }

  /// An iterator that reads the values independently of others. It keeps the sender of the values alive.
  package struct Iterator: AsyncIteratorProtocol {
    private let owner: any AnyObject & Sendable
    private let reader: BroadcastReader<Value, Failure>
    private var isOver = false

    init(_ values: LatestValues) {
      owner = values.owner
      reader = BroadcastReader(values.broadcast, initial: true)
    }

    /// Waits for the next value and returns it.
    ///
    /// - Returns: The value. Nil after the end, or if the task is cancelled.
    /// - Throws: The error that ended the values, once.
    package mutating func next() async throws(Failure) -> Value? { try await next(isolation: #isolation) }

    /// Waits for the next value on the given actor and returns it.
    ///
    /// - Parameter isolation: The actor on which the call waits. Nil for none.
    /// - Returns: The value. Nil after the end, or if the task is cancelled.
    /// - Throws: The error that ended the values, once.
    package mutating func next(isolation: isolated (any Actor)?) async throws(Failure) -> Value? {
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

  /// Returns an iterator that begins with the current value.
  package func makeAsyncIterator() -> Iterator { Iterator(self) }
}

/// Reads a ``Broadcast`` from async code, with one subscriber and one waiting task.
package final class BroadcastReader<Value: Sendable & Equatable, Failure: Error>: Sendable {
  private let broadcast: Broadcast<Value, Failure>
  private let subscriber: Broadcast<Value, Failure>.Subscriber
  private let waiter: Waiter

  private final class Waiter: Sendable {
    /// The task that waits, and whether a value was offered while none waited.
    private let waiting = Lock<(task: CheckedContinuation<Void, Never>?, hasNews: Bool)>((nil, false))

    func ring() {
      let task = waiting.withLock { waiting in
        defer { waiting = (nil, waiting.task == nil) }
        return waiting.task
      }
      task?.resume()
    }

    func wait(isolation: isolated (any Actor)?) async {
      await withTaskCancellationHandler {
        await withCheckedContinuation(isolation: isolation) { continuation in
          let hasNews = waiting.withLock { waiting in
            defer { waiting = (waiting.hasNews ? nil : continuation, false) }
            return waiting.hasNews
          }
          if hasNews { continuation.resume() }
        }
      } onCancel: {
        ring()
      }
    }
  }

  package init(_ broadcast: Broadcast<Value, Failure>, initial: Bool) {
    let waiter = Waiter()
    self.waiter = waiter
    self.broadcast = broadcast
    subscriber = broadcast.subscribe(initial: initial) { waiter.ring() }
  }

  deinit { broadcast.unsubscribe(subscriber) }

  /// Waits for the next value and returns it. Nil after the end, or if the task is cancelled.
  package func next(isolation: isolated (any Actor)? = #isolation) async throws(Failure) -> Value? {
    while !Task.isCancelled {
      switch subscriber.poll() {
      case .value(let value): return value
      case .ended(let result):
        try result.get()
        return nil
      case .empty: await waiter.wait(isolation: isolation)
      }
    }
    return nil
  }
}
