import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchLines

/// Requests and TCP connections in one indicator, on a clock that the test moves.
@Suite struct ActivityCounterTests {
  /// Returns what the counter reports, one line for each report, until the indicator is hidden and no timer is due.
  private static func run(_ body: (EventLoop, ManualClock, ActivityCounter) throws -> Void) throws -> [String] {
    let clock = ManualClock()
    // A request may have begun before the test.
    clock.advance(by: .seconds(100))
    let loop = try EventLoop(by: clock)
    var lines: [String] = []
    var counter: ActivityCounter?
    counter = ActivityCounter(ActivitySettings(), on: loop) { reason, _ in
      guard let activity = counter?.activity else { return }
      lines.append("\(reason.rawValue) \(activity.state.rawValue) \(activity.inFlight) \(activity.connections ?? -1)")
    }
    guard let counter else { return [] }
    try body(loop, clock, counter)
    while let deadline = counter.deadline {
      clock.advance(by: max(deadline - loop.now, .zero))
      try loop.poll()
    }
    #expect(loop.nextDeadline == nil && counter.activity.inFlight == 0)
    return lines
  }

  @Test func `a request that began long ago is shown at the next turn`() throws {
    let lines = try Self.run { loop, _, counter in
      counter.setConnections(1, at: loop.now - .seconds(3))
      #expect(counter.activity.state == .delayingStart)
      try loop.poll()
      #expect(counter.activity.state == .active)
      counter.setConnections(0, at: loop.now - .seconds(1))
      #expect(counter.activity.state == .delayingEnd)
    }
    #expect(
      lines == [
        "request_began delaying-start 1 1", "activation_delay active 1 1", "request_ended delaying-end 0 0",
        "completion_delay inactive 0 0",
      ])
  }

  @Test func `a connection that has come and gone keeps the indicator a while longer, and shows none`() throws {
    let lines = try Self.run { loop, clock, counter in
      counter.setConnections(1, at: loop.now - .seconds(3))
      counter.fireDue()
      counter.setConnections(0, at: loop.now)
      clock.advance(by: .milliseconds(100))
      try loop.poll()
      #expect(counter.activity.state == .delayingEnd)
      counter.setConnections(0, at: loop.now)
      #expect(counter.deadline == loop.now + .milliseconds(170))
      clock.advance(by: .milliseconds(169))
      try loop.poll()
      #expect(counter.activity.state == .delayingEnd)
      clock.advance(by: .milliseconds(1))
      try loop.poll()
      #expect(counter.activity.state == .inactive)
    }
    #expect(lines.last == "completion_delay inactive 0 0" && lines.count == 4)
    let hidden = try Self.run { loop, _, counter in
      counter.setConnections(0, at: loop.now)
      counter.setConnections(0, at: loop.now)
      #expect(counter.activity.state == .inactive && counter.deadline == nil)
    }
    #expect(hidden.isEmpty)
  }

  @Test func `requests and connections are counted together and told apart`() throws {
    let lines = try Self.run { loop, _, counter in
      counter.setRequests(2)
      counter.setConnections(3, at: loop.now)
      counter.setRequests(0)
      counter.setConnections(3, at: loop.now)
      counter.forgetConnections()
      #expect(counter.activity.connections == nil)
    }
    #expect(
      lines.prefix(4) == [
        "request_began delaying-start 2 -1", "request_began delaying-start 5 3", "request_ended delaying-start 3 3",
        "request_ended delaying-start 0 0",
      ])
  }

  @Test func `who asks for the present state gets what is due`() throws {
    _ = try Self.run { loop, clock, counter in
      counter.setConnections(1, at: loop.now - .seconds(3))
      counter.fireDue()
      #expect(counter.activity.state == .active)
      counter.setConnections(0, at: loop.now)
      clock.advance(by: .milliseconds(169))
      counter.fireDue()
      #expect(counter.activity.state == .delayingEnd)
      clock.advance(by: .milliseconds(1))
      counter.fireDue()
      #expect(counter.activity.state == .inactive)
    }
  }

  /// All other tests of this suite use a clock that the test moves.
  @Test func `on the kernel's clock the delays take their time`() throws {
    let loop = try EventLoop()
    let start = loop.now
    var ending: Duration?
    var counter: ActivityCounter?
    counter = ActivityCounter(ActivitySettings(), on: loop) { reason, _ in
      if reason != .completionDelay { return }
      ending = loop.now
      loop.stop()
    }
    counter?.setRequests(1, at: start - .seconds(3))
    counter?.fireDue()
    counter?.setRequests(0)
    try loop.runPatiently()
    #expect(try #require(ending) >= start + .milliseconds(170))
    counter = nil
  }
}

/// What the status of this machine says about a count, on a clock that the test moves.
@Suite struct LocalStatusTests {
  @Test func `a line has the time at which the change was noticed, however long the turn takes`() throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(100))
    let loop = try EventLoop(by: clock)
    var options = StatusOptions()
    options.countsRequests = true
    var dates: [Duration] = []
    let status = LocalStatus(options, on: loop, failed: { Issue.record($0) }) { record in
      if record.event == .activity { dates.append(.nanoseconds(record.monotonicNanoseconds)) }
    }
    status.watch()
    status.startCounting()
    status.setRequests(1)
    clock.advance(by: .milliseconds(3))
    try loop.poll()
    status.setRequests(0)
    clock.advance(by: .milliseconds(4))
    try loop.poll()
    #expect(dates == [.seconds(100), .milliseconds(100_003)])
    status.stop()
  }
}
