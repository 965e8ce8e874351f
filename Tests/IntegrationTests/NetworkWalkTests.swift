import Foundation
import NetwatchTestSupport
import Testing

/// Random configurations of a network namespace with three uplinks. After each step, three views have to agree: a
/// running netwatch, a new one, and the sockets of an ordinary program.
///
/// `contrib/verify walk:SECONDS,SEED` walks for longer.
@Suite struct NetworkWalkTests {
  /// The largest number of steps of one walk, and the number of steps of a run without `NETWATCH_WALK_SECONDS`.
  private static let length = 40

  private static func setting(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test func `after each step of a walk, a running netwatch, a new one and sockets agree`() throws {
    var seed = Self.setting("NETWATCH_WALK_SEED") ?? 1
    let end = Self.setting("NETWATCH_WALK_SECONDS").map { ContinuousClock.now + .seconds(Int64(clamping: $0)) }
    var steps = 0
    func isOver() -> Bool { end.map { ContinuousClock.now >= $0 } ?? (steps >= Self.length) }
    while !isOver() {
      let world = try WalkWorld()
      var generator = WalkGenerator(seed: seed)
      var walk: [WalkStep] = []
      while walk.count < Self.length, !isOver() {
        walk.append(generator.next())
        steps += 1
        try world.take(walk[walk.count - 1])
        guard let disagreement = try world.disagreement() else { continue }
        let minimal = try Self.minimal(walk).map(\.description).joined(separator: "\n  ")
        Issue.record(
          "seed \(seed), step \(walk.count): \(disagreement.text); the steps\n  \(minimal)\n\(disagreement.configuration)"
        )
        // Most of the following steps would also disagree.
        break
      }
      seed += 1
      if end != nil { print("\(steps) steps") }
    }
  }

  /// Returns a shorter list of these steps after which the three views still disagree. No single step can be removed
  /// from it.
  private static func minimal(_ steps: [WalkStep]) throws -> [WalkStep] {
    func fails(_ steps: [WalkStep]) throws -> Bool {
      let world = try WalkWorld()
      for step in steps { try world.take(step) }
      return try world.disagreement() != nil
    }
    guard try fails(steps) else { return steps }
    var steps = steps
    var size = max(1, steps.count / 2)
    while true {
      var start = 0
      while start < steps.count {
        let fewer = Array(steps[..<start] + steps[min(start + size, steps.count)...])
        if try fails(fewer) { steps = fewer } else { start += size }
      }
      if size == 1 { return steps }
      size /= 2
    }
  }
}
