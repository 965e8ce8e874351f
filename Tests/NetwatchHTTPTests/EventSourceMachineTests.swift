import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct EventSourceMachineTests {
  private typealias Machine = EventSourceMachine
  private typealias Effect = EventSourceMachine.Effect

  private static func machine(hasPath: Bool = true, _ change: (inout Machine.Settings) -> Void = { _ in }) -> Machine {
    var settings = Machine.Settings()
    change(&settings)
    return Machine(settings, hasPath: hasPath)
  }

  /// Returns a machine whose connection is open: the server has answered.
  private static func open(_ change: (inout Machine.Settings) -> Void = { _ in }) -> Machine {
    var machine = machine(change)
    _ = machine.handle(.began, at: .zero, jitter: 0)
    _ = machine.handle(.answered(status: 200, isEventStream: true), at: .zero, jitter: 0)
    return machine
  }

  private static func wait(in effects: [Effect]) -> Duration? {
    for case .arm(_, let delay) in effects { return delay }
    return nil
  }

  @Test func `it connects, reads, waits as long as the server says, and connects again`() {
    var machine = Self.machine { $0.answerTimeout = .seconds(60) }
    #expect(
      machine.handle(.began, at: .zero, jitter: 0) == [.prepare, .connect, .arm(token: 1, after: .seconds(60))])
    #expect(machine.handle(.answered(status: 200, isEventStream: true), at: .zero, jitter: 0) == [.disarm])
    #expect(machine.phase == .open)
    #expect(machine.handle(.received(retry: .seconds(7)), at: .zero, jitter: 0) == [])
    #expect(
      machine.handle(.ended(.complete), at: .seconds(10), jitter: 0.5)
        == [.prepare, .arm(token: 3, after: .seconds(7))])
    #expect(machine.phase == .waiting(until: .seconds(17)))
    // This timer was for the answer, which has already come, so it does nothing.
    #expect(machine.handle(.timerFired(token: 1), at: .seconds(11), jitter: 0) == [])
    #expect(
      machine.handle(.timerFired(token: 3), at: .seconds(17), jitter: 0)
        == [.connect, .arm(token: 4, after: .seconds(60))])
  }

  @Test(arguments: [
    (200, false, true, []), (201, true, true, []), (204, false, false, []), (404, true, true, []),
    (503, true, true, []),
    (500, true, true, [503]),
  ]) func `an answer that is no stream ends it`(status: Int, isStream: Bool, isFailure: Bool, retried: [Int]) {
    var machine = Self.machine { $0.retriedStatusCodes = Set(retried) }
    _ = machine.handle(.began, at: .zero, jitter: 0)
    #expect(
      machine.handle(.answered(status: status, isEventStream: isStream), at: .zero, jitter: 0)
        == [.abort, .disarm, .finish(isFailure: isFailure)])
    #expect(machine.phase == .over)
    #expect(machine.handle(.pathChanged(hasPath: true), at: .zero, jitter: 0) == [])
  }

  @Test func `a status that is to be retried is a failure that passes`() {
    var machine = Self.machine { $0.retriedStatusCodes = [502, 503] }
    _ = machine.handle(.began, at: .zero, jitter: 0)
    let effects = machine.handle(.answered(status: 503, isEventStream: false), at: .zero, jitter: 0)
    #expect(effects == [.abort, .prepare, .arm(token: 2, after: .seconds(3))])
  }

  @Test func `each failure in a row waits about twice as long, up to the limit, and a byte ends the row`() {
    for (jitter, expected) in [(0.0, [3, 6, 12, 24, 30, 30]), (1.0, [6, 12, 24, 48, 60, 60])] {
      var machine = Self.machine()
      _ = machine.handle(.began, at: .zero, jitter: 0)
      for (index, seconds) in expected.enumerated() {
        let effects = machine.handle(.ended(.failed(isPathLoss: false)), at: .zero, jitter: jitter)
        #expect(Self.wait(in: effects) == .seconds(seconds), "failure \(index)")
        guard case .arm(let token, _) = effects.last else { return }
        _ = machine.handle(.timerFired(token: token), at: .zero, jitter: 0)
      }
      _ = machine.handle(.answered(status: 200, isEventStream: true), at: .zero, jitter: 0)
      _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
      #expect(Self.wait(in: machine.handle(.ended(.complete), at: .zero, jitter: 1)) == .seconds(3))
    }
  }

  @Test func `a server that asks for no wait gets none, unless it brings nothing`() {
    var machine = Self.open()
    _ = machine.handle(.received(retry: .zero), at: .zero, jitter: 0)
    #expect(machine.handle(.ended(.complete), at: .zero, jitter: 0) == [.prepare, .connect, .disarm])
    _ = machine.handle(.answered(status: 200, isEventStream: true), at: .zero, jitter: 0)
    #expect(Self.wait(in: machine.handle(.ended(.complete), at: .zero, jitter: 0)) == .milliseconds(100))
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(-1), .milliseconds(1 << 42)])
  func `times that no clock can hold do no harm`(_ time: Duration) {
    var machine = Self.open {
      $0.retryDelay = time
      $0.maximumRetryDelay = time
    }
    _ = machine.handle(.received(retry: time), at: .zero, jitter: 0)
    for _ in 0..<100 {
      let effects = machine.handle(.ended(.failed(isPathLoss: false)), at: .seconds(1 << 40), jitter: 1)
      #expect((Self.wait(in: effects) ?? .zero) <= .longestDelay)
      if case .arm(let token, _) = effects.last { _ = machine.handle(.timerFired(token: token), at: .zero, jitter: 0) }
    }
  }

  @Test func `it gives up after as many failures as it may have`() {
    var machine = Self.open { $0.maximumFailures = 2 }
    _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
    for expected in [EventSourceMachine.Phase.waiting(until: .seconds(3)), .waiting(until: .seconds(3)), .over] {
      for case .arm(let token, _) in machine.handle(.ended(.failed(isPathLoss: false)), at: .zero, jitter: 0) {
        #expect(machine.phase == expected)
        _ = machine.handle(.timerFired(token: token), at: .zero, jitter: 0)
      }
    }
    #expect(machine.phase == .over)
  }

  @Test func `a server that does not answer in time is given up`() {
    var machine = Self.machine { $0.answerTimeout = .seconds(5) }
    _ = machine.handle(.began, at: .zero, jitter: 0)
    #expect(
      machine.handle(.timerFired(token: 1), at: .seconds(5), jitter: 0)
        == [.abort, .prepare, .arm(token: 2, after: .seconds(3))])
    #expect(machine.phase == .waiting(until: .seconds(8)))
  }

  @Test func `a path that comes back ends the wait`() {
    var machine = Self.open()
    _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
    _ = machine.handle(.ended(.failed(isPathLoss: false)), at: .zero, jitter: 0)
    #expect(machine.handle(.pathChanged(hasPath: true), at: .zero, jitter: 0) == [])
    #expect(machine.handle(.pathChanged(hasPath: false), at: .zero, jitter: 0) == [])
    #expect(machine.handle(.pathChanged(hasPath: true), at: .zero, jitter: 0) == [.connect, .disarm])
    #expect(machine.phase == .connecting)
  }

  @Test func `a connection that fails when the path is back already is made again at once`() {
    var machine = Self.open()
    _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
    _ = machine.handle(.pathChanged(hasPath: false), at: .zero, jitter: 0)
    _ = machine.handle(.pathChanged(hasPath: true), at: .zero, jitter: 0)
    #expect(
      machine.handle(.ended(.failed(isPathLoss: false)), at: .zero, jitter: 0) == [.prepare, .connect, .disarm])
    // This happens only once, because the next failure cannot be due to the earlier loss of the path.
    #expect(Self.wait(in: machine.handle(.ended(.failed(isPathLoss: false)), at: .zero, jitter: 0)) == .seconds(3))
  }

  @Test func `a connection whose path was lost is made again at once, over the path that is there`() {
    var machine = Self.open()
    _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
    #expect(machine.handle(.ended(.failed(isPathLoss: true)), at: .zero, jitter: 0) == [.prepare, .connect, .disarm])
    _ = machine.handle(.ended(.failed(isPathLoss: true)), at: .zero, jitter: 0)
    #expect(Self.wait(in: machine.handle(.ended(.failed(isPathLoss: true)), at: .zero, jitter: 0)) == .seconds(6))
  }

  @Test func `without a path there is nothing to hurry for`() {
    var machine = Self.open()
    _ = machine.handle(.received(retry: nil), at: .zero, jitter: 0)
    _ = machine.handle(.pathChanged(hasPath: false), at: .zero, jitter: 0)
    #expect(Self.wait(in: machine.handle(.ended(.failed(isPathLoss: true)), at: .zero, jitter: 0)) == .seconds(3))
  }

  @Test func `a request that must not be sent twice has one connection`() {
    for (end, isFailure) in [
      (EventSourceMachine.End.complete, false), (.failed(isPathLoss: true), true), (.hopeless, true),
    ] {
      var machine = Self.open { $0.mayRepeat = false }
      #expect(machine.handle(.ended(end), at: .zero, jitter: 0) == [.disarm, .finish(isFailure: isFailure)])
    }
  }

  @Test(arguments: 0..<4) func `what is hopeless ends it at any point`(steps: Int) {
    var machine = Self.machine()
    let events: [EventSourceMachine.Event] = [
      .began, .answered(status: 200, isEventStream: true), .ended(.complete),
    ]
    for event in events.prefix(steps) { _ = machine.handle(event, at: .zero, jitter: 0) }
    #expect(machine.handle(.ended(.hopeless), at: .zero, jitter: 0) == [.disarm, .finish(isFailure: true)])
  }

  @Test func `whatever happens, a request is prepared once before it is sent, and one at a time`() {
    var random = SplitMix(seed: 3)
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      var machine = Self.machine(hasPath: random.oneIn(2)) {
        $0.answerTimeout = random.oneIn(2) ? .seconds(1) : nil
        $0.maximumFailures = random.oneIn(2) ? 5 : nil
        $0.retriedStatusCodes = [503]
      }
      var (isPrepared, isSent, token) = (false, false, UInt64(0))
      for step in 0..<40 {
        let event: EventSourceMachine.Event =
          switch step == 0 ? 0 : Int.random(in: 0..<9, using: &random) {
          case 0: .began
          case 1: .timerFired(token: token)
          case 2: .pathChanged(hasPath: random.oneIn(2))
          case 3, 4: .answered(status: [200, 200, 503][Int.random(in: 0..<3, using: &random)], isEventStream: true)
          case 5: .received(retry: random.oneIn(2) ? .zero : nil)
          case 6: .ended(.complete)
          case 7: .timerFired(token: token &- 1)
          default: .ended(.failed(isPathLoss: random.oneIn(2)))
          }
        for effect in machine.handle(event, at: .seconds(step), jitter: Double.random(in: 0...1, using: &random)) {
          switch effect {
          case .prepare: (isPrepared, isSent) = (true, false)
          case .connect:
            #expect(isPrepared && !isSent)
            isSent = true
          case .abort: (isPrepared, isSent) = (false, false)
          case .arm(let next, let delay):
            #expect(next > token && delay > .zero)
            token = next
          case .disarm: break
          case .finish: #expect(machine.phase == .over)
          }
        }
        if case .waiting = machine.phase { #expect(isPrepared && !isSent) }
        if machine.phase == .connecting || machine.phase == .open { #expect(isSent) }
      }
    }
  }
}
