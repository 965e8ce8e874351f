import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

@Suite struct HostMachineTests {
  private static let seven = Resolution(addresses: [.ip("192.0.2.7")])
  private static let eight = Resolution(addresses: [.ip("192.0.2.8")])

  /// A machine, and the timer that it asked for last.
  private struct Run {
    var machine = HostMachine(refresh: .seconds(60))
    /// The time at which the machine's timer fires; nil if no timer is set.
    var timer: Duration?

    mutating func handle(_ event: HostMachine.Event, at seconds: Double) -> [HostMachine.Effect] {
      if event == .timerFired { timer = nil }
      let effects = machine.handle(event, at: .seconds(seconds))
      for effect in effects {
        switch effect {
        case .arm(let deadline): timer = deadline
        case .disarm: timer = nil
        case .lookUp, .publish: break
        }
      }
      return effects
    }

    /// Returns a run whose machine has known an address since 0.5 s.
    static func resolved(_ answer: Resolution = seven) -> Run {
      var run = Run()
      _ = run.handle(.started, at: 0)
      _ = run.handle(.resolved(answer), at: 0.5)
      return run
    }
  }

  @Test func `it asks when it starts, and tells what it hears`() {
    var run = Run()
    #expect(run.handle(.started, at: 0) == [.disarm, .lookUp])
    #expect(run.handle(.resolved(Self.seven), at: 0.5) == [.arm(.seconds(60.5)), .publish])
    #expect(run.machine.addresses == [.ip("192.0.2.7")])
    #expect(run.handle(.timerFired, at: 60.5) == [.disarm, .lookUp])
    #expect(run.handle(.resolved(Self.eight), at: 61) == [.arm(.seconds(121)), .publish])
    #expect(run.machine.addresses == [.ip("192.0.2.8")])
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 18])
  func `an interval that no clock can hold is one of a hundred years`(_ refresh: Duration) {
    var machine = HostMachine(refresh: refresh)
    _ = machine.handle(.started, at: .zero)
    #expect(machine.handle(.resolved(Self.seven), at: .seconds(1)) == [.arm(.seconds(3_155_760_001)), .publish])
    _ = machine.handle(.timerFired, at: .seconds(2))
    #expect(machine.handle(.failed(.timedOut), at: .seconds(3)) == [.arm(.seconds(4))])
    let endless = Resolution(addresses: [.ip("192.0.2.8")], timeToLive: refresh)
    _ = machine.handle(.timerFired, at: .seconds(4))
    #expect(machine.handle(.resolved(endless), at: .seconds(5)) == [.arm(.seconds(3_155_760_005)), .publish])
  }

  @Test func `the same addresses in another order are no news`() {
    let one = InternetAddress.ip("192.0.2.1")
    let two = InternetAddress.ip("192.0.2.2")
    var run = Run.resolved(Resolution(addresses: [one, two]))
    _ = run.handle(.timerFired, at: 60.5)
    #expect(run.handle(.resolved(Resolution(addresses: [two, one])), at: 60.5) == [.arm(.seconds(120.5))])
    #expect(run.machine.addresses == [one, two])
  }

  @Test(arguments: [(0, 5.0), (5, 5), (6, 6), (59, 59), (60, 60), (600, 60)] as [(Int, Double)])
  func `an answer is good for its time, within limits`(_ time: Int, _ wait: Double) {
    var run = Run()
    _ = run.handle(.started, at: 0)
    let answer = Resolution(addresses: [.ip("192.0.2.7")], timeToLive: .seconds(time))
    #expect(run.handle(.resolved(answer), at: 0).first == .arm(.seconds(wait)))
  }

  @Test func `a refresh that is shorter than the limits counts`() {
    var machine = HostMachine(refresh: .seconds(2))
    _ = machine.handle(.started, at: .zero)
    #expect(machine.handle(.resolved(Self.seven), at: .zero).first == .arm(.seconds(2)))
    _ = machine.handle(.timerFired, at: .seconds(2))
    for _ in 0..<5 {
      #expect(
        machine.handle(.failed(.timedOut), at: .seconds(3)).contains {
          $0 == .arm(.seconds(4)) || $0 == .arm(.seconds(5))
        })
      _ = machine.handle(.timerFired, at: .seconds(5))
    }
  }

  // MARK: Failures

  @Test(arguments: [ResolverError.Kind.noSuchName, .noAddress])
  func `a server that knows of no address takes the old ones away`(_ kind: ResolverError.Kind) {
    var run = Run.resolved()
    _ = run.handle(.timerFired, at: 60.5)
    #expect(run.handle(.failed(kind), at: 61) == [.arm(.seconds(62)), .publish])
    #expect(run.machine.addresses == [])
  }

  @Test(arguments: [ResolverError.Kind.timedOut, .noServer, .other])
  func `without an answer the old addresses stay`(_ kind: ResolverError.Kind) {
    var run = Run.resolved()
    for _ in 0..<20 {
      _ = run.handle(.timerFired, at: 100)
      #expect(!run.handle(.failed(kind), at: 100).contains(.publish))
      #expect(run.machine.addresses == Self.seven.addresses)
    }
  }

  @Test(arguments: [ResolverError.Kind.noSuchName, .noAddress, .timedOut, .noServer, .other])
  func `the first outcome is told, also where there is no address`(_ kind: ResolverError.Kind) {
    var run = Run()
    _ = run.handle(.started, at: 0)
    #expect(run.handle(.failed(kind), at: 1) == [.arm(.seconds(2)), .publish])
    _ = run.handle(.timerFired, at: 2)
    #expect(run.handle(.failed(kind), at: 2) == [.arm(.seconds(4))])
    _ = run.handle(.timerFired, at: 4)
    #expect(run.handle(.resolved(Self.seven), at: 4).last == .publish)
  }

  @Test func `waits after failures grow up to the refresh, and a success ends them`() {
    var run = Run()
    var waits: [Duration] = []
    _ = run.handle(.started, at: 0)
    for _ in 0..<80 {
      _ = run.handle(.failed(.timedOut), at: 0)
      waits.append(run.timer ?? .zero)
      _ = run.handle(.timerFired, at: 0)
    }
    #expect(Array(waits.prefix(7)) == [1, 2, 4, 8, 16, 32, 60].map(Duration.seconds))
    #expect(waits.dropFirst(7).allSatisfy { $0 == .seconds(60) })
    _ = run.handle(.resolved(Self.seven), at: 0)
    _ = run.handle(.timerFired, at: 60)
    _ = run.handle(.failed(.timedOut), at: 60)
    #expect(run.timer == .seconds(61))
  }

  // MARK: Changes

  @Test func `a change is looked up at once`() {
    var run = Run.resolved()
    #expect(run.handle(.changed, at: 10) == [.disarm, .lookUp])
    #expect(run.timer == nil)
  }

  @Test func `after a success, the next lookup is a second away`() {
    var run = Run.resolved()
    #expect(run.handle(.changed, at: 0.6) == [.arm(.seconds(1))])
    #expect(run.handle(.changed, at: 0.7) == [.arm(.seconds(1))])
    #expect(run.handle(.timerFired, at: 1) == [.disarm, .lookUp])
  }

  @Test func `after a failure a change is not waited for, and waits are short again`() {
    var run = Run()
    _ = run.handle(.started, at: 0)
    for _ in 0..<5 {
      _ = run.handle(.failed(.noServer), at: 0)
      _ = run.handle(.timerFired, at: 0)
    }
    _ = run.handle(.failed(.noServer), at: 0)
    #expect(run.handle(.changed, at: 0.1) == [.disarm, .lookUp])
    #expect(run.handle(.failed(.noServer), at: 0.25) == [.arm(.seconds(1.25))])
  }

  @Test func `a lookup that a change overtakes is dropped after a second`() {
    var run = Run.resolved()
    _ = run.handle(.changed, at: 10)
    #expect(run.handle(.changed, at: 10.2) == [.arm(.seconds(11))])
    #expect(run.handle(.changed, at: 10.9) == [])
    #expect(run.handle(.timerFired, at: 11) == [.disarm, .lookUp])
    #expect(run.handle(.resolved(Self.eight), at: 11.1).contains(.publish))
  }

  @Test func `a lookup that has run for a second is dropped at once by a change`() {
    var run = Run.resolved()
    _ = run.handle(.changed, at: 10)
    #expect(run.handle(.changed, at: 12) == [.disarm, .lookUp])
  }

  @Test func `of a lookup that was overtaken, addresses count and failures do not`() {
    var run = Run.resolved()
    _ = run.handle(.changed, at: 10)
    _ = run.handle(.changed, at: 10.1)
    #expect(run.handle(.resolved(Self.eight), at: 10.2) == [.arm(.seconds(11)), .publish])
    _ = run.handle(.timerFired, at: 11)
    _ = run.handle(.changed, at: 11.1)
    #expect(run.handle(.failed(.noSuchName), at: 11.2) == [.disarm, .lookUp])
    #expect(run.machine.addresses == Self.eight.addresses)
  }

  /// The events are random, but a lookup ends only if one runs, and the timer fires only if it is armed.
  @Test func `whatever happens, one lookup goes on or a timer is armed`() {
    var random = SplitMix(seed: 3)
    var machine = HostMachine(refresh: .seconds(60))
    var now = Duration.zero
    var isLookingUp = false
    var timer: Duration?
    var last: Duration = .seconds(-9)
    var published: [InternetAddress]?
    var event = HostMachine.Event.started
    for round in 0..<FuzzRounds.count(default: 20_000) {
      let hadSucceeded = if case .resolved = event { true } else { false }
      for effect in machine.handle(event, at: now) {
        switch effect {
        case .lookUp:
          (isLookingUp, last) = (true, now)
          #expect(!hadSucceeded)
        case .arm(let deadline):
          timer = deadline
          #expect(deadline >= now && deadline <= now + .seconds(60), "round \(round)")
        case .disarm: timer = nil
        case .publish:
          #expect(published == nil || Set(published ?? []) != Set(machine.addresses))
          published = machine.addresses
        }
      }
      #expect(isLookingUp || timer != nil, "round \(round) stands still")
      if isLookingUp, timer == nil || random.oneIn(2) {
        now += .milliseconds(Int.random(in: 0...2_000, using: &random))
        event = .changed
        if let due = timer, due <= now {
          (now, event, timer) = (max(last, due), .timerFired, nil)
        } else if !random.oneIn(3) {
          isLookingUp = false
          let kinds: [ResolverError.Kind] = [.noSuchName, .noAddress, .timedOut, .noServer, .other]
          event =
            random.oneIn(2)
            ? .resolved(random.oneIn(2) ? Self.seven : Self.eight)
            : .failed(kinds[Int.random(in: 0..<5, using: &random)])
        }
      } else if let due = timer, random.oneIn(2) {
        (now, event, timer) = (max(now, due), .timerFired, nil)
      } else {
        event = .changed
      }
    }
  }
}
