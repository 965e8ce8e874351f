import Netwatch
import NetwatchEventLoop
import Testing

@testable import NetwatchStream

/// Requests and TCP connections in one indicator.
@Suite struct ActivityRunnerTests {
  /// What it says, line by line, until it shows nothing and nothing is due.
  private static func run(_ body: (EventLoop, ActivityRunner) -> Void) throws -> [String] {
    let loop = try EventLoop()
    var lines: [String] = []
    var runner: ActivityRunner?
    runner = ActivityRunner(on: loop) { reason in
      guard let activity = runner?.activity else { return }
      lines.append("\(reason.rawValue) \(activity.state.rawValue) \(activity.inFlight) \(activity.connections ?? -1)")
      if activity.inFlight == 0, runner?.deadline == nil { loop.stop() }
    }
    guard let runner else { return [] }
    body(loop, runner)
    try loop.run()
    return lines
  }

  @Test func `what began long ago is shown at the next turn, by the timer`() throws {
    let lines = try Self.run { loop, runner in
      runner.setConnectionCount(1, at: KernelClock.monotonic.now - .seconds(3))
      #expect(runner.activity.state == .delayingStart)
      loop.schedule(at: KernelClock.monotonic.now + .milliseconds(20)) {
        #expect(runner.activity.state == .active)
        runner.setConnectionCount(0, at: KernelClock.monotonic.now - .seconds(1))
        #expect(runner.activity.state == .delayingEnd)
      }
    }
    #expect(
      lines == [
        "request_began delaying-start 1 1", "activation_delay active 1 1", "request_ended delaying-end 0 0",
        "completion_delay inactive 0 0",
      ])
  }

  @Test func `requests and connections are counted together and told apart`() throws {
    let lines = try Self.run { loop, runner in
      runner.setCount(2)
      runner.setConnectionCount(3, at: KernelClock.monotonic.now)
      runner.setCount(0)
      runner.setConnectionCount(3, at: KernelClock.monotonic.now)
      runner.forgetConnections()
      #expect(runner.activity.connections == nil)
    }
    #expect(
      lines.prefix(4) == [
        "request_began delaying-start 2 -1", "request_began delaying-start 5 3", "request_ended delaying-start 3 3",
        "request_ended delaying-start 0 0",
      ])
  }

  @Test func `who asks for the present state gets what is due`() throws {
    _ = try Self.run { loop, runner in
      runner.setConnectionCount(1, at: KernelClock.monotonic.now - .seconds(3))
      runner.fireDue()
      #expect(runner.activity.state == .active)
      // So late that it can not be due, however slow the machine is.
      runner.setConnectionCount(0, at: KernelClock.monotonic.now + .milliseconds(500))
      runner.fireDue()
      #expect(runner.activity.state == .delayingEnd)
    }
  }
}
