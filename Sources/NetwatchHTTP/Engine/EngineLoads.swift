import Netwatch

/// The number of tasks on each engine of a session with several engines. All members can be used from any thread.
final class EngineLoads: Sendable {
  /// One of the engines.
  struct Place: Sendable {
    let loads: EngineLoads
    let index: Int

    /// Counts the end of a task of this engine.
    func taskEnded() { loads.counts.withLock { $0[index] -= 1 } }
  }

  /// The number of connections that each engine may have, at least 1.
  private let shares: [Int]
  private let counts: Lock<[Int]>

  init(_ shares: [Int]) {
    self.shares = shares
    counts = Lock(shares.map { _ in 0 })
  }

  /// Chooses the engine of a new task: the one with the fewest tasks for its share of the connections, or the first of several.
  /// Therefore tasks that follow each other go to the same engine, which still has the connection of the last task.
  func beginTask() -> Int {
    counts.withLock { counts in
      var best = 0
      for index in counts.indices.dropFirst() where counts[index] * shares[best] < counts[best] * shares[index] {
        best = index
      }
      counts[best] += 1
      return best
    }
  }
}
