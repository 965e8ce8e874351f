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
