import Netwatch

/// How many tasks each engine of a session has, for a session with several. From any thread.
final class EngineLoads: Sendable {
  /// One of the engines.
  struct Place: Sendable {
    let loads: EngineLoads
    let index: Int

    /// A task of this engine has ended.
    func taskEnded() { loads.counts.withLock { $0[index] -= 1 } }
  }

  /// How many connections each engine may have, at least 1.
  private let shares: [Int]
  private let counts: InlineLock<[Int]>

  init(_ shares: [Int]) {
    self.shares = shares
    counts = InlineLock(shares.map { _ in 0 })
  }

  /// The engine for another task: the one with the fewest tasks for its share of the connections, and of those the first. So
  /// one task after the other goes to the same engine, which has the connection of the last one.
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
