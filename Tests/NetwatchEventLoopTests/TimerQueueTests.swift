import Testing

@testable import NetwatchEventLoop

@Suite struct TimerQueueTests {
  /// Removes the timers that are due at `now`, and returns their ids in order.
  static func fire(_ queue: inout TimerQueue, at now: Duration) -> [UInt64] {
    var fired: [UInt64] = []
    while let entry = queue.popDue(at: now) { fired.append(entry.id) }
    return fired
  }

  @Test func `the earliest fires first, equal ones in the order in which they came`() {
    var queue = TimerQueue()
    let late = queue.add(at: .seconds(3)) {}
    let first = queue.add(at: .seconds(1)) {}
    let second = queue.add(at: .seconds(1)) {}
    let middle = queue.add(at: .seconds(2)) {}
    #expect(queue.nextDeadline == .seconds(1))
    #expect(Self.fire(&queue, at: .milliseconds(999)) == [])
    #expect(Self.fire(&queue, at: .seconds(2)) == [first, second, middle])
    #expect(queue.nextDeadline == .seconds(3))
    #expect(Self.fire(&queue, at: .seconds(9)) == [late])
    #expect(queue.nextDeadline == nil)
  }

  @Test func `a removed timer never fires, and removing it again does no harm`() {
    var queue = TimerQueue()
    let first = queue.add(at: .seconds(1)) {}
    let second = queue.add(at: .seconds(2)) {}
    queue.remove(first)
    queue.remove(first)
    queue.remove(99)
    #expect(Self.fire(&queue, at: .seconds(5)) == [second])
  }

  @Test func `numbers are never used twice`() {
    var queue = TimerQueue()
    let ids = (0..<100).map { _ in queue.add(at: .zero) {} }
    _ = Self.fire(&queue, at: .zero)
    let more = (0..<100).map { _ in queue.add(at: .zero) {} }
    #expect(Set(ids + more).count == 200)
  }

  @Test func `random deadlines come out sorted`() {
    var queue = TimerQueue()
    var expected: [(Duration, UInt64)] = []
    for _ in 0..<500 {
      let deadline = Duration.milliseconds(Int.random(in: 0..<50))
      expected.append((deadline, queue.add(at: deadline) {}))
    }
    expected.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    #expect(Self.fire(&queue, at: .seconds(1)) == expected.map(\.1))
  }

  @Test(arguments: [(Duration.zero, 0, 1), (.seconds(-5), 0, 1), (.nanoseconds(1_500_000_001), 1, 500_000_001)])
  func `no deadline disarms the timer of the kernel`(_ deadline: Duration, _ seconds: Int, _ nanoseconds: Int) {
    #expect(deadline.timespec.tv_sec == seconds)
    #expect(deadline.timespec.tv_nsec == nanoseconds)
  }
}
