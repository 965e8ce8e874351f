import Netwatch
import NetwatchEventLoop

/// Carries out the effects of a ``BatchMachine``.
final class BatchCore<Value: Sendable>: Sendable {
  typealias Outcome = Result<HTTPReply<Value>, HTTPError>
  /// Begins a request. The completion is never called before the maker returns.
  typealias Maker =
    @Sendable (HTTPSessionManager, _ index: Int, _ completion: @escaping @Sendable (Outcome) -> Void) -> HTTPTask

  private struct State: Sendable {
    var machine: BatchMachine
    var tasks: [Int: HTTPTask] = [:]
    var results: [Int: Outcome] = [:]
    /// The callbacks of the user. They are released with their last call, because what they hold may hold the batch.
    var progress: (@Sendable (HTTPBatchProgress) -> Void)?
    var completion: (@Sendable ([Outcome]) -> Void)?
    /// Fulfilled after the batch's completion, for which `waitUntilInvalidated()` of the session waits.
    var hold: OneShot<Void>?
  }

  private weak let session: HTTPSessionManager?
  private let state: Lock<State>
  private let callbacks: CallbackQueue
  private let make: Maker
  private let count: Int

  init(
    _ session: HTTPSessionManager, _ count: Int, _ limit: Int, _ callbacks: CallbackQueue,
    _ progress: (@Sendable (HTTPBatchProgress) -> Void)?, _ completion: @escaping @Sendable ([Outcome]) -> Void,
    make: @escaping Maker
  ) {
    self.session = session
    self.count = count
    self.callbacks = callbacks
    self.make = make
    state = Lock(
      State(
        machine: BatchMachine(count: count, limit: limit), progress: progress, completion: completion,
        hold: session.pending.hold()))
  }

  func handle(_ event: BatchMachine.Event, _ result: Outcome? = nil) {
    // Done under the lock, so that tasks are begun before they are cancelled, and calls keep their order.
    state.withLock { state in
      if case .ended(let index, _) = event {
        state.tasks[index] = nil
        state.results[index] = result
      }
      var effects = state.machine.handle(event)
      while !effects.isEmpty {
        let more = effects.flatMap { carryOut($0, &state) }
        effects = more
      }
    }
    callbacks.flush()
  }

  /// - Returns: The effects that follow.
  private func carryOut(_ effect: BatchMachine.Effect, _ state: inout State) -> [BatchMachine.Effect] {
    switch effect {
    case .begin(let index):
      guard let session else {
        state.results[index] = .failure(HTTPError(.invalidated, "request"))
        return state.machine.handle(.ended(index, isFailure: true))
      }
      state.tasks[index] = make(session, index) { result in
        var isFailure = false
        if case .failure = result { isFailure = true }
        self.handle(.ended(index, isFailure: isFailure), result)
      }
    case .cancel(let index): state.tasks[index]?.cancel()
    case .giveUp(let index): state.results[index] = .failure(HTTPError(.cancelled, "cancel"))
    case .report(let progress):
      if let report = state.progress { callbacks.enqueue { report(progress) } }
    case .complete: complete(&state)
    }
    return []
  }

  private func complete(_ state: inout State) {
    let results = (0..<count).map { state.results[$0] ?? .failure(HTTPError(.invalidated, "request")) }
    let (completion, hold) = (state.completion, state.hold)
    state.results = [:]
    (state.progress, state.completion, state.hold) = (nil, nil, nil)
    callbacks.enqueue {
      completion?(results)
      hold?.fulfill()
    }
  }
}
