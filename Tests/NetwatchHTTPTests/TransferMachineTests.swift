import HTTPTypes
import Testing

@testable import NetwatchHTTP

@Suite struct TransferMachineTests {
  private typealias Effects = TransferMachine.Effects

  private static let request = HTTPRequest(method: .get, scheme: "https", authority: "example.org", path: "/")
  private static let next = HTTPRequest(method: .get, scheme: "https", authority: "example.org", path: "/next")

  private func machine(
    waits: Bool = false, adapts: Bool = false, _ options: HTTPTaskOptions = HTTPTaskOptions(),
    after events: TransferMachine.Event...
  ) throws -> TransferMachine {
    let plan = RequestPlan(Self.request, nil, options, own: [:], .data, try CredentialScope(nil, .init()))
    var machine = TransferMachine(plan, waitsForPath: waits, adapts: adapts)
    for event in events { _ = machine.handle(event) }
    return machine
  }

  @Test func `a task begins when it is resumed, and ends when libcurl is done`() throws {
    var machine = try machine()
    #expect(machine.handle(.resumed) == [.beginActivity, .attach])
    #expect(machine.handle(.attemptEnded(hasFailed: false)) == .complete)
    #expect(machine.isOver)
    #expect(machine.isActive, "its activity ends when the completion has run")
  }

  @Test func `a task that is cancelled before it begins was never active`() throws {
    var machine = try machine()
    #expect(machine.handle(.cancelled) == .complete)
    #expect(!machine.isActive)
  }

  @Test func `a task that is cancelled while it is suspended ends its activity once`() throws {
    var machine = try machine(after: .resumed)
    #expect(machine.handle(.suspended) == [.pause, .endActivity])
    #expect(machine.handle(.cancelled) == [.detach, .complete])
    #expect(!machine.isActive)
  }

  @Test func `suspending and resuming twice is the same as once`() throws {
    var machine = try machine(after: .resumed, .suspended)
    #expect(machine.handle(.suspended) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .proceed])
    #expect(machine.handle(.resumed) == [])
  }

  @Test func `an end that comes while a task is suspended waits`() throws {
    var machine = try machine(after: .resumed, .suspended)
    #expect(machine.handle(.attemptEnded(hasFailed: false)) == [])
    #expect(!machine.isOver)
    #expect(machine.handle(.resumed) == .complete)
    #expect(machine.isOver)
  }

  @Test func `an end that comes while somebody is asked waits for the answer`() throws {
    var asked = try machine(after: .resumed, .asked(.caller))
    #expect(asked.handle(.attemptEnded(hasFailed: false)) == [])
    #expect(asked.handle(.accepted) == .complete)

    var refused = try machine(after: .resumed, .asked(.caller), .attemptEnded(hasFailed: false))
    #expect(refused.handle(.redirected(Self.next)) == .attach)
  }

  @Test func `an attempt about which somebody is asked before it is sent waits for the answer, and for being resumed`()
    throws
  {
    var machine = try machine(after: .resumed, .asked(.caller))
    #expect(machine.handle(.accepted) == .proceed)

    machine = try self.machine(after: .resumed, .asked(.caller))
    #expect(machine.handle(.suspended) == [.pause, .endActivity])
    #expect(machine.handle(.accepted) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .proceed])
  }

  @Test func `a refused response is broken off, and the next attempt is made`() throws {
    var machine = try machine(after: .resumed, .asked(.caller))
    #expect(machine.handle(.redirected(Self.next)) == [.detach, .attach])
    #expect(machine.isAttached)
  }

  @Test func `a task waits for a path without being active`() throws {
    var machine = try machine(waits: true)
    #expect(machine.handle(.resumed) == .waitForPath)
    #expect(!machine.isActive)
    #expect(machine.handle(.suspended) == .stopWaiting)
    #expect(machine.handle(.resumed) == .waitForPath)
    #expect(machine.handle(.pathArrived) == [.stopWaiting, .beginActivity, .attach])
  }

  @Test func `a task that goes offline waits, and begins anew`() throws {
    var machine = try machine(after: .resumed)
    #expect(machine.handle(.attemptWentOffline) == [.endActivity, .waitForPath])
    #expect(machine.handle(.pathArrived) == [.stopWaiting, .beginActivity, .attach])
  }

  @Test func `a request that somebody may change waits for the answer, and so does one that is made again`() throws {
    var machine = try machine(adapts: true)
    #expect(machine.handle(.resumed) == [.beginActivity, .adapt])
    #expect(!machine.isAttached)
    #expect(machine.handle(.accepted) == .attach)
    #expect(machine.handle(.attemptFailed) == [])
    #expect(!machine.isAttached && !machine.isOver)
    #expect(machine.handle(.retried(after: .seconds(3)), at: .seconds(1)) == .endActivity)
    #expect(machine.deadline == .seconds(4))
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(3)) == [])
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(4)) == [.beginActivity, .adapt])
    #expect(machine.handle(.cancelled) == .complete)
  }

  @Test func `a failure that nobody wants to repeat is the end`() throws {
    var machine = try machine(adapts: true, after: .resumed, .accepted, .attemptFailed)
    #expect(machine.handle(.accepted) == .complete)
  }

  @Test func `an answer that is to be asked for again is broken off`() throws {
    var machine = try machine(adapts: true, after: .resumed, .accepted, .asked(.caller))
    #expect(machine.handle(.retried(after: .seconds(3))) == [.detach, .endActivity])
    #expect(machine.handle(.suspended) == [])
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(9)) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .adapt])
  }

  // MARK: Redirects

  @Test func `the request after a redirect follows when its body has been skipped, and not after a failure`() throws {
    for hasFailed in [false, true] {
      var machine = try machine(after: .resumed)
      machine.decide(.skipped(Self.next))
      #expect(machine.verdict == .skipped(Self.next))
      #expect(machine.handle(.attemptEnded(hasFailed: hasFailed)) == (hasFailed ? .complete : .attach))
      #expect(machine.chain.request == (hasFailed ? Self.request : Self.next))
      #expect(machine.verdict == .undecided)
    }
  }

  @Test func `a caller changes where a redirect leads, and interceptors what is sent`() throws {
    var machine = try machine(adapts: true, after: .resumed)
    #expect(machine.handle(.adapted(Self.next)) == .attach)
    #expect(machine.chain.request == Self.next)
    _ = machine.handle(.asked(.caller))
    #expect(machine.handle(.redirected(Self.request)) == [.detach, .attach])
    #expect(machine.chain.request == Self.request && machine.chain.redirects == 1)
    // The redirect was decided, so a second decision has no effect.
    #expect(machine.handle(.redirected(Self.next)) == [])
    #expect(machine.chain.request == Self.request)
  }

  // MARK: Deadlines

  private static var limits: HTTPTaskOptions {
    var options = HTTPTaskOptions()
    (options.timeout, options.totalTimeout) = (.seconds(10), .seconds(60))
    return options
  }

  @Test func `an attempt ends when nothing has moved for its time, and not while it waits for a connection`() throws {
    var machine = try machine(Self.limits, after: .resumed)
    machine.moved(at: .seconds(5))
    #expect(machine.deadline == .seconds(15))
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(14)) == [])
    #expect(machine.handle(.timePassed(isQueued: true), at: .seconds(15)) == [])
    #expect(machine.deadline == .seconds(25))
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(25)) == .endIdleness)
  }

  @Test func `a request without any time ends, even while it waits for a connection`() throws {
    var options = HTTPTaskOptions()
    options.timeout = .zero
    var machine = try machine(options, after: .resumed)
    #expect(machine.handle(.timePassed(isQueued: true), at: .seconds(1)) == .endIdleness)
  }

  @Test func `no time counts that a caller, a reader or the cache's own response takes`() throws {
    var machine = try machine(Self.limits, after: .resumed)
    machine.isStalled = true
    #expect(machine.deadline == nil)
    machine.isStalled = false
    _ = machine.handle(.asked(.caller))
    #expect(machine.deadline == nil)
    _ = machine.handle(.accepted)
    _ = machine.handle(.asked(.cache))
    #expect(machine.deadline == .seconds(10))
    _ = machine.handle(.accepted)
    machine.answeredByCache()
    #expect(machine.deadline == nil)
    machine.startClock(at: .zero)
    _ = machine.handle(.suspended)
    #expect(machine.deadline == .seconds(60))
  }

  @Test func `the time for the whole task begins once, and counts in all states`() throws {
    var machine = try machine(Self.limits, after: .resumed)
    machine.startClock(at: .seconds(1))
    machine.startClock(at: .seconds(20))
    _ = machine.handle(.attemptWentOffline)
    machine.wait(until: .seconds(50))
    #expect(machine.deadline == .seconds(50))
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(50)) == .endPathWait)
    // If two deadlines have passed, the earlier one counts.
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(70)) == .endPathWait)
    machine.wait(until: .seconds(90))
    #expect(machine.deadline == .seconds(61))
    #expect(machine.handle(.timePassed(isQueued: false), at: .seconds(95)) == .endTime)
    machine.resetTotalTimeout()
    #expect(machine.deadline == .seconds(90))
  }

  @Test func `whatever happens, activity is balanced, there is one end, and libcurl has one attempt at most`() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<1_000 {
      var machine = try machine(waits: .random(using: &generator), adapts: .random(using: &generator))
      var (isActive, isAttached, isWaiting, completions) = (false, false, false, 0)
      for step in 0..<30 {
        var event = Self.events.randomElement(using: &generator) ?? .resumed
        if step == 29 { event = .cancelled }
        // libcurl reports nothing about an attempt that it does not have, and such an attempt causes no question.
        let isEnd =
          switch event {
          case .attemptEnded, .attemptFailed, .attemptRepeated, .attemptWentOffline: true
          default: false
          }
        let isQuestion = if case .asked = event { true } else { false }
        if isEnd || isQuestion, !isAttached { continue }
        if isEnd { isAttached = false }
        if isAttached, .random(using: &generator) { machine.decide(.skipped(Self.next)) }
        let effects = machine.handle(event, at: .seconds(step))
        #expect(completions == 0 || effects.isEmpty)
        if effects.contains(.detach) {
          #expect(isAttached)
          isAttached = false
        }
        if effects.contains(.endActivity) {
          #expect(isActive)
          isActive = false
        }
        if effects.contains(.stopWaiting) {
          #expect(isWaiting)
          isWaiting = false
        }
        if effects.contains(.adapt) { #expect(machine.adapts && !isAttached) }
        if effects.contains(.waitForPath) {
          #expect(!isWaiting)
          isWaiting = true
        }
        if effects.contains(.beginActivity) {
          #expect(!isActive)
          isActive = true
        }
        if effects.contains(.attach) {
          #expect(!isAttached)
          isAttached = true
        }
        if effects.contains(.complete) { completions += 1 }
        #expect(machine.isActive == isActive)
        #expect(machine.isAttached == isAttached)
      }
      #expect(completions == 1 && !isAttached && !isWaiting)
    }
  }

  private static let events: [TransferMachine.Event] = [
    .resumed, .suspended, .cancelled, .pathArrived, .timePassed(isQueued: false), .asked(.caller), .asked(.cache),
    .accepted, .adapted(request), .redirected(next), .retried(after: .seconds(2)), .attemptFailed,
    .attemptEnded(hasFailed: false), .attemptEnded(hasFailed: true), .attemptRepeated, .attemptWentOffline,
    .connectionLost,
  ]
}

extension TransferMachine {
  fileprivate mutating func handle(_ event: Event) -> Effects { handle(event, at: .zero) }
}
