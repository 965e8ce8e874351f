import Netwatch
import Synchronization

/// A request that somebody awaits, and can cancel before it has begun.
final class RunningRequest: Sendable {
  private struct State: Sendable {
    var id: RequestID?
    var isCancelled = false
    var end: End?
  }

  typealias End = (outcome: TransferOutcome, ticket: DeliveryTicket)

  private let state = InlineLock(State())
  private let port: EnginePort

  init(_ port: EnginePort) { self.port = port }

  func begin(_ order: TransferOrder) {
    let id = order.id
    port.submit(.start(order, isSuspended: false))
    let isCancelled = state.withLock { state in
      state.id = id
      return state.isCancelled
    }
    if isCancelled { port.submit(.cancel(id)) }
  }

  /// Called on the loop's thread.
  func ended(_ outcome: TransferOutcome, _ ticket: DeliveryTicket) {
    state.withLock { $0.end = (outcome, ticket) }
  }

  /// Under the lock once more: a continuation that is resumed before anybody waits orders nothing that the thread sanitizer
  /// could see.
  func takeEnd() -> End? {
    state.withLock { state in
      defer { state.end = nil }
      return state.end
    }
  }

  func cancel() {
    let id = state.withLock { state in
      state.isCancelled = true
      return state.id
    }
    if let id { port.submit(.cancel(id)) }
  }
}
