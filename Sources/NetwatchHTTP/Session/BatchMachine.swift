/// Many requests that have one completion. Pure: events in, effects out.
struct BatchMachine: Sendable {
  enum Event: Hashable, Sendable {
    case began
    case ended(Int, isFailure: Bool)
    case cancelled
  }

  /// To be carried out in this order.
  enum Effect: Hashable, Sendable {
    case begin(Int)
    case cancel(Int)
    /// A request that has not begun, and never will.
    case giveUp(Int)
    case report(HTTPBatchProgress)
    case complete
  }

  private enum Place: Hashable { case waiting, running, ended }

  private(set) var progress: HTTPBatchProgress
  private let limit: Int
  private var places: [Place]
  /// The first that has not begun.
  private var next = 0
  private var running = 0
  private var isCancelled = false

  /// - Parameter limit: how many may run at once; at least one.
  init(count: Int, limit: Int) {
    progress = HTTPBatchProgress(total: count)
    self.limit = max(limit, 1)
    places = Array(repeating: .waiting, count: count)
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .began: return places.isEmpty ? [.complete] : fill()
    case .ended(let index, let isFailure):
      guard places.indices.contains(index), places[index] == .running else { return [] }
      running -= 1
      return ended(index, isFailure) + fill()
    case .cancelled:
      guard !isCancelled else { return [] }
      isCancelled = true
      let cancelled = places.indices.filter { places[$0] == .running }.map(Effect.cancel)
      let given = places.indices.filter { places[$0] == .waiting }
      next = places.count
      return cancelled + given.flatMap { index in [.giveUp(index)] + ended(index, true) }
    }
  }

  private mutating func ended(_ index: Int, _ isFailure: Bool) -> [Effect] {
    places[index] = .ended
    progress.finished += 1
    progress.failed += isFailure ? 1 : 0
    progress.last = index
    return progress.finished == progress.total ? [.report(progress), .complete] : [.report(progress)]
  }

  private mutating func fill() -> [Effect] {
    let count = min(limit - running, places.count - next)
    guard count > 0 else { return [] }
    let indices = next..<(next + count)
    for index in indices { places[index] = .running }
    next += count
    running += count
    return indices.map(Effect.begin)
  }
}
