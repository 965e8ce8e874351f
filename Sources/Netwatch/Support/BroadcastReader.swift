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
