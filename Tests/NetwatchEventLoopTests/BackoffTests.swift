import NetwatchTestSupport
import Testing

@testable import NetwatchEventLoop

@Suite struct BackoffTests {
  @Test(arguments: [(1, [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]), (0, [25, 50, 100, 200])])
  func `each pause is twice as long as the one before, up to ten seconds`(chance: Double, milliseconds: [Int]) {
    var backoff = Backoff()
    for expected in milliseconds { #expect(backoff.nextPause(chance: chance) == .milliseconds(expected)) }
  }

  @Test func `chance takes off up to a half, and the longest pause stays for as long as it takes`() {
    var backoff = Backoff()
    var least = Backoff.first
    for _ in 0..<10_000 {
      let pause = backoff.nextPause()
      #expect(pause >= least / 2 && pause <= least)
      least = min(least * 2, Backoff.longest)
    }
    #expect(least == .seconds(10))
  }
}

/// Attempts on a clock that the test moves.
@Suite struct RetryTests {
  private final class Bench {
    let clock = ManualClock()
    let loop: EventLoop
    var attempts: [Duration] = []
    var succeeds = false
    lazy var retry: Retry? = Retry(on: loop) { [unowned self] in
      attempts.append(loop.now)
      return succeeds
    }

    init() throws { loop = try EventLoop(by: clock) }

    /// Lets time pass until the next attempt, and returns how long that took.
    func nextPause() throws -> Duration {
      let pause = try #require(loop.nextDeadline) - loop.now
      // A moment before the end of the pause, nothing happens.
      let count = attempts.count
      clock.advance(by: pause - .nanoseconds(1))
      try loop.poll()
      #expect(attempts.count == count)
      clock.advance(by: .nanoseconds(1))
      try loop.poll()
      #expect(attempts.count == count + 1)
      return pause
    }
  }

  @Test func `attempts come after growing pauses, until one succeeds`() throws {
    let bench = try Bench()
    bench.retry?.begin()
    #expect(bench.attempts == [.zero])
    var longest = Backoff.first
    for _ in 0..<12 {
      let pause = try bench.nextPause()
      #expect(pause >= longest / 2 && pause <= longest)
      longest = min(longest * 2, Backoff.longest)
    }
    bench.succeeds = true
    _ = try bench.nextPause()
    #expect(bench.loop.nextDeadline == nil)
    // After a success, the pauses begin again with the shortest one.
    bench.succeeds = false
    bench.retry?.begin()
    #expect(try bench.nextPause() <= Backoff.first)
  }

  @Test func `an attempt that is to come later does, unless it is stopped or released`() throws {
    let bench = try Bench()
    bench.retry?.beginLater()
    #expect(bench.attempts.isEmpty)
    #expect(try bench.nextPause() <= Backoff.first)
    bench.retry?.stop()
    #expect(bench.loop.nextDeadline == nil)
    bench.retry?.beginLater()
    #expect(bench.loop.nextDeadline != nil)
    bench.retry = nil
    #expect(bench.loop.nextDeadline == nil)
  }
}
