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
