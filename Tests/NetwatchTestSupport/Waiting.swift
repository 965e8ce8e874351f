import Foundation
import NetwatchEventLoop
import Testing

/// Something that a test could not do, or that did not come before its deadline.
package struct TestFailure: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

/// The time at which a wait of a test ends. Every wait has one.
package struct Deadline {
  /// How much slower than a computer of today this machine is; contrib/guest sets it, because its processor is emulated.
  private static let patience =
    ProcessInfo.processInfo.environment["NETWATCH_TEST_PATIENCE"].flatMap { Double($0) } ?? 1

  private let end: ContinuousClock.Instant
  package init(_ seconds: Double) { end = ContinuousClock.now + .seconds(seconds * Self.patience) }
  package var isOver: Bool { ContinuousClock.now >= end }
  package var milliseconds: CInt {
    let (seconds, attoseconds) = max(end - ContinuousClock.now, .zero).components
    return CInt(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
  }
}

/// Gives other tasks their turns until a condition holds. The test fails if that takes more than five minutes: other suites may
/// keep all threads of the pool for one.
package func waitUntil(
  isolation: isolated (any Actor)? = #isolation, _ location: SourceLocation = #_sourceLocation,
  _ condition: () -> Bool
) async {
  let deadline = Deadline(300)
  while !condition() {
    guard !deadline.isOver else {
      Issue.record("what the test waits for has not come in 300 s", sourceLocation: location)
      return
    }
    await Task.yield()
  }
}

extension EventLoop {
  /// Runs until the loop is stopped, and fails the test if that does not happen in time.
  package func runPatiently(_ location: SourceLocation = #_sourceLocation) throws {
    let deadline = LoopTimer(on: self) { [unowned self] in
      Issue.record("nothing has come in 30 s", sourceLocation: location)
      stop()
    }
    deadline.set(after: .seconds(30))
    try run()
    deadline.stop()
  }
}
