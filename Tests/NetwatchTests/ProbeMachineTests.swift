import Netwatch
import NetwatchTestSupport
import Testing

/// When the internet is probed, and what is known about it in the meantime.
@Suite struct ProbeMachineTests {
  private static let second = Duration.seconds(1)
  private static let v0 = InterfaceName("v0")
  private static let limit = ProbeMachine.Timing().limit

  static func path(
    _ status: ReachabilityStatus = .wifi, over name: String? = "v0", vpn: String? = nil
  ) -> NetworkPath.Verdict {
    var verdict = NetworkPath.Verdict(status: status)
    guard status.isReachable else { return verdict }
    verdict.interfaceName = name.map { InterfaceName($0) }
    verdict.vpn = vpn.map { VPN(kernelName: InterfaceName($0), interfaceIndex: 7, kind: .wireguard, families: [.ipv4]) }
    return verdict
  }

  /// Returns a machine whose first probe has run since 0 s.
  private func probing(_ timing: ProbeMachine.Timing = .init()) -> ProbeMachine {
    var machine = ProbeMachine(timing)
    #expect(machine.handle(.path(Self.path()), at: .zero) == [.arm(timing.limit), .start(1, over: Self.v0)])
    return machine
  }

  /// Returns a machine whose first probe ended at 1 s.
  private func resting(with access: InternetAccess, _ timing: ProbeMachine.Timing = .init()) -> ProbeMachine {
    var machine = probing(timing)
    _ = machine.handle(.ended(1, access), at: Self.second)
    return machine
  }

  @Test func `the first path is probed at once, and nothing is known until the answer is there`() {
    var machine = probing()
    #expect(machine.internet == .unknown)
    #expect(machine.awaitsAnswer)
    #expect(
      machine.handle(.ended(1, .full), at: Self.second) == [.arm(.seconds(301)), .answer(.full, isNews: true)])
    #expect(machine.internet == .full)
    #expect(!machine.awaitsAnswer)
  }

  @Test func `a later path is probed when it has settled, and a burst of changes makes one probe`() {
    var machine = resting(with: .full)
    for change in 0..<50 {
      let now = Duration.seconds(2) + .milliseconds(100 * change)
      #expect(machine.handle(.path(Self.path()), at: now) == [.arm(now + .milliseconds(200))])
      #expect(machine.internet == .unknown)
      #expect(machine.handle(.timerFired, at: now + .milliseconds(99)) == [])
    }
    let settled = Duration.milliseconds(2_000 + 4_900 + 200)
    #expect(machine.handle(.timerFired, at: settled) == [.arm(settled + Self.limit), .start(2, over: Self.v0)])
  }

  @Test func `a path that changes kills the probe that runs, and its answer counts no more`() {
    var machine = probing()
    #expect(
      machine.handle(.path(Self.path(over: "w0")), at: Self.second)
        == [.kill(1), .arm(.milliseconds(1_200))])
    #expect(machine.handle(.ended(1, .full), at: .milliseconds(1_100)) == [])
    #expect(machine.internet == .unknown)
    #expect(
      machine.handle(.timerFired, at: .milliseconds(1_200))
        == [.arm(.milliseconds(1_200) + Self.limit), .start(2, over: InterfaceName("w0"))])
    #expect(machine.handle(.ended(1, .portal), at: .milliseconds(1_300)) == [])
    #expect(
      machine.handle(.ended(2, .absent), at: .milliseconds(1_400))
        == [.arm(.milliseconds(11_400)), .answer(.absent, isNews: true)])
  }

  @Test(arguments: [(ReachabilityStatus.notReachable, InternetAccess.absent), (.unknown, .unknown)])
  func `no probe runs while nothing is reachable`(status: ReachabilityStatus, known: InternetAccess) {
    var fresh = ProbeMachine()
    #expect(fresh.handle(.path(Self.path(status)), at: .zero) == [.arm(nil)])
    #expect(fresh.internet == known)
    #expect(!fresh.awaitsAnswer)

    var running = probing()
    #expect(running.handle(.path(Self.path(status)), at: Self.second) == [.kill(1), .arm(nil)])
    #expect(running.internet == known)
    #expect(running.handle(.timerFired, at: .seconds(1_000)) == [])
    #expect(running.handle(.path(Self.path()), at: .seconds(2_000)) == [.arm(.milliseconds(2_000_200))])
    #expect(running.internet == .unknown)
  }

  @Test func `it asks again after the interval, and sooner while the internet is not there`() {
    for (access, pause) in [(InternetAccess.full, 300), (.portal, 10), (.absent, 10), (.unknown, 10)] {
      var machine = resting(with: access)
      let due = Duration.seconds(1 + pause)
      #expect(machine.handle(.timerFired, at: due - .nanoseconds(1)) == [])
      #expect(machine.handle(.timerFired, at: due) == [.arm(due + Self.limit), .start(2, over: Self.v0)])
      // The last answer stays until the new one is there.
      #expect(machine.internet == access)
      #expect(
        machine.handle(.ended(2, access), at: due)
          == [.arm(due + .seconds(pause)), .answer(access, isNews: false)])
    }
    var timing = ProbeMachine.Timing()
    timing.interval = .seconds(3)
    var quick = resting(with: .portal, timing)
    #expect(quick.handle(.timerFired, at: .seconds(4)).count == 2)
  }

  @Test func `an interval of zero asks never again, but for a new path and after a sleep`() {
    var timing = ProbeMachine.Timing()
    timing.interval = .zero
    var machine = probing(timing)
    #expect(machine.handle(.ended(1, .portal), at: Self.second) == [.arm(nil), .answer(.portal, isNews: true)])
    #expect(machine.handle(.timerFired, at: .seconds(1_000_000)) == [])
    var woken = machine
    #expect(woken.handle(.doubted, at: .seconds(1_000_000)) == [.arm(.milliseconds(1_000_000_200))])
    #expect(machine.handle(.path(Self.path()), at: .seconds(1_000_000)).count == 1)
  }

  @Test func `a probe that does not end is killed, and proves nothing`() {
    var machine = probing()
    #expect(machine.handle(.timerFired, at: Self.limit - .nanoseconds(1)) == [])
    #expect(
      machine.handle(.timerFired, at: Self.limit)
        == [.kill(1), .arm(Self.limit + .seconds(10)), .answer(.unknown, isNews: false)])
    #expect(machine.handle(.ended(1, .full), at: Self.limit) == [])
  }

  @Test func `after a sleep it asks again, and what was known stays until the answer is there`() {
    var machine = resting(with: .full)
    #expect(machine.handle(.doubted, at: .seconds(2)) == [.arm(.milliseconds(2_200))])
    #expect(machine.internet == .full)
    #expect(machine.awaitsAnswer)
    #expect(machine.handle(.timerFired, at: .milliseconds(2_200)).contains(.start(2, over: Self.v0)))
    // No other probe begins while one runs or is due soon.
    #expect(machine.handle(.doubted, at: .seconds(3)) == [])
    #expect(
      machine.handle(.ended(2, .portal), at: .seconds(4)) == [.arm(.seconds(14)), .answer(.portal, isNews: true)])
    var offline = ProbeMachine()
    #expect(offline.handle(.doubted, at: .zero) == [])
    _ = offline.handle(.path(Self.path(.notReachable)), at: .zero)
    #expect(offline.handle(.doubted, at: Self.second) == [])
  }

  @Test func `it goes over the outermost tunnel`() {
    var machine = ProbeMachine()
    #expect(
      machine.handle(.path(Self.path(vpn: "wg0")), at: .zero) == [
        .arm(Self.limit), .start(1, over: InterfaceName("wg0")),
      ])
  }
}
