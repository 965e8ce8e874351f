import Netwatch
import Synchronization

/// A request that somebody awaits, and can cancel before it has begun.
final class RunningRequest: Sendable {
  private struct State: Sendable {
    var id: RequestID?
    var isCancelled = false
  }

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

  func cancel() {
    let id = state.withLock { state in
      state.isCancelled = true
      return state.id
    }
    if let id { port.submit(.cancel(id)) }
  }
}
