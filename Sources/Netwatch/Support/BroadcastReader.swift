/// Reads a ``Broadcast`` from async code: one subscriber, and one task that waits for it.
package final class BroadcastReader<Value: Sendable & Equatable, Failure: Error>: Sendable {
  private enum Waiting: Sendable {
    case nobody
    /// Something was offered while nobody waited.
    case signalled
    case task(CheckedContinuation<Void, Never>)
  }

  private let broadcast: Broadcast<Value, Failure>
  private let subscriber: Broadcast<Value, Failure>.Subscriber
  private let bell: Bell

  private final class Bell: Sendable {
    let waiting = Lock(Waiting.nobody)

    func ring() {
      let continuation = waiting.withLock { waiting -> CheckedContinuation<Void, Never>? in
        guard case .task(let continuation) = waiting else {
          waiting = .signalled
          return nil
        }
        waiting = .nobody
        return continuation
      }
      continuation?.resume()
    }

    func wait(isolation: isolated (any Actor)?) async {
      await withTaskCancellationHandler {
        await withCheckedContinuation(isolation: isolation) { continuation in
          let isSignalled = waiting.withLock { waiting -> Bool in
            if case .signalled = waiting {
              waiting = .nobody
              return true
            }
            waiting = .task(continuation)
            return false
          }
          if isSignalled { continuation.resume() }
        }
      } onCancel: {
        ring()
      }
    }
  }

  package init(_ broadcast: Broadcast<Value, Failure>, initial: Bool) {
    let bell = Bell()
    self.bell = bell
    self.broadcast = broadcast
    subscriber = broadcast.subscribe(initial: initial) { bell.ring() }
  }

  deinit { broadcast.unsubscribe(subscriber) }

  /// The next value; nil after the end, or when the task is cancelled.
  package func next(isolation: isolated (any Actor)? = #isolation) async throws(Failure) -> Value? {
    while !Task.isCancelled {
      switch subscriber.take() {
      case .value(let value): return value
      case .ended(let result):
        try result.get()
        return nil
      case .empty: await bell.wait(isolation: isolation)
      }
    }
    return nil
  }
}
