import Netwatch
import NetwatchEventLoop

/// What a session's engine is asked to do.
enum EngineWish: Sendable {
  case start(TransferOrder, isSuspended: Bool)
  case resume(RequestID)
  case suspend(RequestID)
  case cancel(RequestID)
  case other(@Sendable (SessionEngine) -> Void)
}

/// The way to a session's engine, from any thread. Wishes keep their order.
final class EnginePort: Sendable {
  private struct State: Sendable {
    var wishes: [EngineWish] = []
    /// Nil once the session has ended: tasks that somebody keeps do not keep their engine or its loop.
    var way: Way?
  }

  private final class Way: Sendable {
    let handle: LoopHandle
    let wake: LoopHandle.Job

    init(_ handle: LoopHandle, _ engine: LoopConfined<SessionEngine>) {
      self.handle = handle
      wake = { loop in engine.value(on: loop)?.carryOutWishes() }
    }
  }

  private let state: InlineLock<State>

  init(_ handle: LoopHandle, _ engine: LoopConfined<SessionEngine>) {
    state = InlineLock(State(way: Way(handle, engine)))
  }

  /// Drops `wish` where the session has ended.
  func submit(_ wish: EngineWish) {
    let way = state.withLock { state -> Way? in
      guard let way = state.way else { return nil }
      // A task is made suspended, and begun in the same breath: that is one wish.
      if case .resume(let id) = wish, case .start(let order, true)? = state.wishes.last, order.id == id {
        state.wishes[state.wishes.count - 1] = .start(order, isSuspended: false)
      } else {
        state.wishes.append(wish)
      }
      return state.wishes.count == 1 ? way : nil
    }
    if let way, !way.handle.submit(way.wake) { close() }
  }

  func submit(_ job: @escaping @Sendable (SessionEngine) -> Void) { submit(.other(job)) }

  /// Puts what has been asked for in the place of `wishes`, which has to be empty.
  func take(_ wishes: inout [EngineWish]) { state.withLock { swap(&$0.wishes, &wishes) } }

  /// From now on all is dropped.
  func close() {
    // Released outside the lock: what they own may submit in its deinit.
    let dropped = state.withLock { state in
      defer { state = State() }
      return state
    }
    _ = dropped
  }
}
