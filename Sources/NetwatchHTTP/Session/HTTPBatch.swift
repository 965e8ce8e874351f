import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A batch of requests with one completion. All members can be used from any thread, and no call waits.
///
/// The batch continues when this object is released.
public final class HTTPBatch: Sendable {
  private let canceller: @Sendable () -> Void
  private let tree: @Sendable () -> HTTPProgressTree

  init(progress tree: @escaping @Sendable () -> HTTPProgressTree, cancel canceller: @escaping @Sendable () -> Void) {
    self.tree = tree
    self.canceller = canceller
  }

  /// The progress of all requests, each with the weight 1, in bytes and as a fraction. You can add the tree to another one.
  ///
  /// ``HTTPBatchProgress`` counts the requests that have ended.
  public var progressTree: HTTPProgressTree { tree() }

  /// Cancels all requests that are not over, which ends the batch. Each of them gets the result `cancelled`.
  public func cancel() { canceller() }
}

extension HTTPSessionManager {
  /// Begins many requests, and keeps their responses in memory. A failed request is one of the results, and does not stop the
  /// others. A response with any status is a success.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  ///   - completion: Called once by the executor of `options`, after the last call of `progress`. It gets one result for each
  ///     request, in the order of `requests`.
  /// - Returns: The batch, by which you can cancel the requests.
  @discardableResult
  public func batch(
    _ requests: [any RequestConvertible], limit: Int = 6, options: HTTPTaskOptions = HTTPTaskOptions(),
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Data>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.task(
        session.plan(requests[index], nil, options), isSuspended: false,
        { reply throws(HTTPError) in reply.with(reply.value.data) }, completion)
    }
  }

  /// Begins many requests, with one serializer for all of them. A failed request is one of the results, and does not stop the
  /// others.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - serializer: Checks each response, and makes a value from its body.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  ///   - completion: Called once by the executor of `options`, after the last call of `progress`. It gets one result for each
  ///     request, in the order of `requests`.
  /// - Returns: The batch, by which you can cancel the requests.
  @discardableResult
  public func batch<Serializer: ResponseSerializer>(
    _ requests: [any RequestConvertible], as serializer: Serializer, limit: Int = 6,
    options: HTTPTaskOptions = HTTPTaskOptions(), progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil,
    completion: @escaping @Sendable ([Result<HTTPReply<Serializer.Value>, HTTPError>]) -> Void
  ) -> HTTPBatch {
    begin(requests.count, limit, options, progress, completion) { session, index, completion in
      session.send(requests[index], options: options, as: serializer, completion: completion)
    }
  }

  /// Makes many requests, and waits for all of their responses, which are kept in memory. A response with any status is a success.
  /// Cancelling the Swift task cancels the batch.
  ///
  /// - Parameters:
  ///   - requests: The requests: paths relative to the base URL, URLs, `HTTPRequest`s and ``HTTPCall``s, in any mixture.
  ///   - limit: The most requests that run at the same time. Default: 6. A request that waits for its turn does not time out.
  ///   - options: The options of each request. Options that are not set come from the session.
  ///   - progress: Called once for each request, when it ends. Default: nil.
  /// - Returns: One result for each request, in the order of `requests`.
  public func batch(
    _ requests: [any RequestConvertible], limit: Int = 6, options: HTTPTaskOptions = HTTPTaskOptions(),
    progress: (@Sendable (HTTPBatchProgress) -> Void)? = nil
  ) async -> [Result<HTTPReply<Data>, HTTPError>] {
    let cancellation = CancellationHandle<HTTPBatch> { $0.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let batch = batch(requests, limit: limit, options: options, progress: progress) {
          continuation.resume(returning: $0)
        }
        cancellation.began(batch)
      }
    } onCancel: {
      cancellation.cancel()
    }
  }

  private func begin<Value: Sendable>(
    _ count: Int, _ limit: Int, _ options: HTTPTaskOptions, _ progress: (@Sendable (HTTPBatchProgress) -> Void)?,
    _ completion: @escaping @Sendable ([Result<HTTPReply<Value>, HTTPError>]) -> Void,
    make: @escaping BatchCore<Value>.Maker
  ) -> HTTPBatch {
    let core = BatchCore(
      self, count, limit, callbacks(configuration.taskOptions.merged(with: options)), progress, completion,
      make: make)
    // An empty batch ends as it begins, and its completion must not run before the caller has the batch.
    if count > 0 { core.handle(.began) } else { Task { core.handle(.began) } }
    return HTTPBatch(progress: { core.progressTree }, cancel: { core.handle(.cancelled) })
  }
}

/// The progress of a batch of requests.
public struct HTTPBatchProgress: Hashable, Sendable {
  /// The number of requests that have ended, including those that failed.
  public internal(set) var finished = 0
  /// The number of requests that failed, including those that were cancelled.
  public internal(set) var failed = 0
  /// The number of requests in the batch.
  public let total: Int
  /// The index of the request that ended last.
  public internal(set) var last = 0
}

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
    /// The progress of the requests. Nil until somebody asks for it.
    var tree: HTTPProgressTree?
    /// The requests that the tree has not got yet: those that have begun, and the number of those that never will.
    var begun: [HTTPTask] = []
    var givenUp = 0
    /// The callbacks of the user. They are released with their last call, because what they hold may hold the batch.
    var progress: (@Sendable (HTTPBatchProgress) -> Void)?
    var completion: (@Sendable ([Outcome]) -> Void)?
    /// Fulfilled after the batch's completion, for which `waitUntilInvalidated()` of the session waits.
    var hold: Promise<Void>?
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

  /// The progress of the requests. Followed only if somebody asks for it.
  var progressTree: HTTPProgressTree {
    let (tree, running, ended) = state.withLock { state -> (HTTPProgressTree, [HTTPTask], Int) in
      if let tree = state.tree { return (tree, [], 0) }
      // A batch without requests is over, and so is its tree.
      let tree = HTTPProgressTree(
        .milliseconds(50), places: max(count, 1), cancelPlaces: { [weak self] in self?.handle(.cancelled) })
      state.tree = tree
      return (tree, Array(state.tasks.values), count == 0 ? 1 : state.machine.progress.finished)
    }
    for task in running { tree.addToPlace(task) }
    for _ in 0..<ended { tree.giveUpPlace() }
    return tree
  }

  func handle(_ event: BatchMachine.Event, _ result: Outcome? = nil) {
    // Done under the lock, so that tasks are begun before they are cancelled, and calls keep their order.
    let (tree, begun, givenUp) = state.withLock { state -> (HTTPProgressTree?, [HTTPTask], Int) in
      if case .ended(let index, _) = event {
        state.tasks[index] = nil
        state.results[index] = result
      }
      var effects = state.machine.handle(event)
      while !effects.isEmpty {
        let more = effects.flatMap { carryOut($0, &state) }
        effects = more
      }
      defer { (state.begun, state.givenUp) = ([], 0) }
      return (state.tree, state.begun, state.givenUp)
    }
    if let tree {
      for task in begun { tree.addToPlace(task) }
      for _ in 0..<givenUp { tree.giveUpPlace() }
    }
    callbacks.flush()
  }

  /// - Returns: The effects that follow.
  private func carryOut(_ effect: BatchMachine.Effect, _ state: inout State) -> [BatchMachine.Effect] {
    switch effect {
    case .begin(let index):
      guard let session else {
        state.results[index] = .failure(HTTPError(.invalidated, "request"))
        state.givenUp += 1
        return state.machine.handle(.ended(index, isFailure: true))
      }
      let task = make(session, index) { result in
        var isFailure = false
        if case .failure = result { isFailure = true }
        self.handle(.ended(index, isFailure: isFailure), result)
      }
      state.tasks[index] = task
      state.begun.append(task)
    case .cancel(let index): state.tasks[index]?.cancel()
    case .giveUp(let index):
      state.results[index] = .failure(HTTPError(.cancelled, "cancel"))
      state.givenUp += 1
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

/// The states of a batch of requests with one completion. Pure: events in, effects out.
struct BatchMachine: Sendable {
  enum Event: Hashable, Sendable {
    case began
    case ended(Int, isFailure: Bool)
    case cancelled
  }

  /// What the core has to do. Effects are carried out in the order in which they are returned.
  enum Effect: Hashable, Sendable {
    case begin(Int)
    case cancel(Int)
    /// Give the result `cancelled` to a request that has not begun, and never will.
    case giveUp(Int)
    case report(HTTPBatchProgress)
    case complete
  }

  private(set) var progress: HTTPBatchProgress
  private let limit: Int
  /// The index of the first request that has not begun.
  private var next = 0
  private var running: Set<Int> = []
  private var isCancelled = false

  /// - Parameter limit: The most requests that run at the same time. Less than 1 counts as 1.
  init(count: Int, limit: Int) {
    progress = HTTPBatchProgress(total: count)
    self.limit = max(limit, 1)
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .began: return progress.total == 0 ? [.complete] : fill()
    case .ended(let index, let isFailure):
      guard running.remove(index) != nil else { return [] }
      return ended(index, isFailure) + fill()
    case .cancelled:
      guard !isCancelled else { return [] }
      isCancelled = true
      let waiting = next..<progress.total
      next = progress.total
      return running.sorted().map(Effect.cancel) + waiting.flatMap { index in [.giveUp(index)] + ended(index, true) }
    }
  }

  private mutating func ended(_ index: Int, _ isFailure: Bool) -> [Effect] {
    progress.finished += 1
    progress.failed += isFailure ? 1 : 0
    progress.last = index
    return progress.finished == progress.total ? [.report(progress), .complete] : [.report(progress)]
  }

  private mutating func fill() -> [Effect] {
    let count = min(limit - running.count, progress.total - next)
    guard count > 0 else { return [] }
    let indices = next..<(next + count)
    running.formUnion(indices)
    next += count
    return indices.map(Effect.begin)
  }
}
