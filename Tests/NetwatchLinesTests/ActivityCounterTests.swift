import Netwatch
import NetwatchEventLoop
import Testing

@testable import NetwatchLines

/// Requests and TCP connections in one indicator.
@Suite struct ActivityCounterTests {
  /// What it says, line by line, until it shows nothing and nothing is due.
  private static func run(_ body: (EventLoop, ActivityCounter) -> Void) throws -> [String] {
    let loop = try EventLoop()
    var lines: [String] = []
    var counter: ActivityCounter?
    counter = ActivityCounter(ActivitySettings(), on: loop) { reason in
      guard let activity = counter?.activity else { return }
      lines.append("\(reason.rawValue) \(activity.state.rawValue) \(activity.inFlight) \(activity.connections ?? -1)")
      if activity.inFlight == 0, counter?.deadline == nil { loop.stop() }
    }
    guard let counter else { return [] }
    body(loop, counter)
    try loop.run()
    return lines
  }

  @Test func `a request that began long ago is shown at the next turn`() throws {
    let lines = try Self.run { loop, counter in
      counter.setConnections(1, at: KernelClock.monotonic.now - .seconds(3))
      #expect(counter.activity.state == .delayingStart)
      loop.schedule(at: KernelClock.monotonic.now + .milliseconds(20)) {
        #expect(counter.activity.state == .active)
        counter.setConnections(0, at: KernelClock.monotonic.now - .seconds(1))
        #expect(counter.activity.state == .delayingEnd)
      }
    }
    #expect(
      lines == [
        "request_began delaying-start 1 1", "activation_delay active 1 1", "request_ended delaying-end 0 0",
        "completion_delay inactive 0 0",
      ])
  }

  @Test func `a connection that has come and gone keeps the indicator a while longer, and shows none`() throws {
    var ended = Duration.zero
    let lines = try Self.run { loop, counter in
      counter.setConnections(1, at: KernelClock.monotonic.now - .seconds(3))
      counter.fireDue()
      counter.setConnections(0, at: KernelClock.monotonic.now)
      loop.schedule(after: .milliseconds(100)) {
        #expect(counter.activity.state == .delayingEnd)
        ended = KernelClock.monotonic.now
        counter.setConnections(0, at: ended)
        #expect(counter.deadline == ended + .milliseconds(170))
      }
    }
    #expect(KernelClock.monotonic.now >= ended + .milliseconds(170))
    #expect(lines.last == "completion_delay inactive 0 0" && lines.count == 4)
    let hidden = try Self.run { loop, counter in
      counter.setConnections(0, at: KernelClock.monotonic.now)
      counter.setConnections(0, at: KernelClock.monotonic.now)
      #expect(counter.activity.state == .inactive && counter.deadline == nil)
      loop.schedule(after: .zero) { loop.stop() }
    }
    #expect(hidden.isEmpty)
  }

  @Test func `requests and connections are counted together and told apart`() throws {
    let lines = try Self.run { loop, counter in
      counter.setRequests(2)
      counter.setConnections(3, at: KernelClock.monotonic.now)
      counter.setRequests(0)
      counter.setConnections(3, at: KernelClock.monotonic.now)
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
    _ = try Self.run { loop, counter in
      counter.setConnections(1, at: KernelClock.monotonic.now - .seconds(3))
      counter.fireDue()
      #expect(counter.activity.state == .active)
      // So late that it cannot be due, however slow the machine is.
      counter.setConnections(0, at: KernelClock.monotonic.now + .milliseconds(500))
      counter.fireDue()
      #expect(counter.activity.state == .delayingEnd)
    }
  }
}
