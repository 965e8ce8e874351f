import Testing

@testable import NetwatchHTTP

@Suite struct TransferMachineTests {
  private typealias Effects = TransferMachine.Effects

  private func machine(waits: Bool = false, adapts: Bool = false, after events: TransferMachine.Event...)
    -> TransferMachine
  {
    var machine = TransferMachine(waitsForPath: waits, adapts: adapts)
    for event in events { _ = machine.handle(event) }
    return machine
  }

  @Test func `a task begins when it is resumed, and ends when libcurl is done`() {
    var machine = machine()
    #expect(machine.handle(.resumed) == [.beginActivity, .attach])
    #expect(machine.handle(.attemptEnded) == .complete)
    #expect(machine.isOver)
    #expect(machine.isActive, "its activity ends when the completion has run")
  }

  @Test func `a task that is cancelled before it begins was never active`() {
    var machine = machine()
    #expect(machine.handle(.cancelled) == .complete)
    #expect(!machine.isActive)
  }

  @Test func `a task that is cancelled while it is suspended ends its activity once`() {
    var machine = machine(after: .resumed)
    #expect(machine.handle(.suspended) == [.pause, .endActivity])
    #expect(machine.handle(.cancelled) == [.detach, .complete])
    #expect(!machine.isActive)
  }

  @Test func `suspending and resuming twice is the same as once`() {
    var machine = machine(after: .resumed, .suspended)
    #expect(machine.handle(.suspended) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .proceed])
    #expect(machine.handle(.resumed) == [])
  }

  @Test func `an end that comes while a task is suspended waits`() {
    var machine = machine(after: .resumed, .suspended)
    #expect(machine.handle(.attemptEnded) == [])
    #expect(!machine.isOver)
    #expect(machine.handle(.resumed) == .complete)
    #expect(machine.isOver)
  }

  @Test func `an end that comes while somebody is asked waits for the answer`() {
    var asked = machine(after: .resumed, .asked)
    #expect(asked.handle(.attemptEnded) == [])
    #expect(asked.handle(.accepted) == .complete)

    var refused = machine(after: .resumed, .asked, .attemptEnded)
    #expect(refused.handle(.refused) == .attach)
  }

  @Test func `an attempt about which somebody is asked before it is sent waits for the answer, and for being resumed`()
  {
    var machine = machine(after: .resumed, .asked)
    #expect(machine.handle(.accepted) == .proceed)

    machine = self.machine(after: .resumed, .asked)
    #expect(machine.handle(.suspended) == [.pause, .endActivity])
    #expect(machine.handle(.accepted) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .proceed])
  }

  @Test func `a refused response is broken off, and the next attempt is made`() {
    var machine = machine(after: .resumed, .asked)
    #expect(machine.handle(.refused) == [.detach, .attach])
    #expect(machine.isAttached)
  }

  @Test func `a task waits for a path without being active`() {
    var machine = machine(waits: true)
    #expect(machine.handle(.resumed) == .waitForPath)
    #expect(!machine.isActive)
    #expect(machine.handle(.suspended) == .stopWaiting)
    #expect(machine.handle(.resumed) == .waitForPath)
    #expect(machine.handle(.pathArrived) == [.stopWaiting, .beginActivity, .attach])
  }

  @Test func `a task that goes offline waits, and begins anew`() {
    var machine = machine(after: .resumed)
    #expect(machine.handle(.attemptWentOffline) == [.endActivity, .waitForPath])
    #expect(machine.handle(.pathArrived) == [.stopWaiting, .beginActivity, .attach])
  }

  @Test func `a request that somebody may change waits for the answer, and so does one that is made again`() {
    var machine = machine(adapts: true)
    #expect(machine.handle(.resumed) == [.beginActivity, .adapt])
    #expect(!machine.isAttached)
    #expect(machine.handle(.accepted) == .attach)
    #expect(machine.handle(.attemptFailed) == [])
    #expect(!machine.isAttached && !machine.isOver)
    #expect(machine.handle(.retried) == [.endActivity, .delay])
    #expect(machine.handle(.delayEnded) == [.stopWaiting, .beginActivity, .adapt])
    #expect(machine.handle(.cancelled) == .complete)
  }

  @Test func `a failure that nobody wants to repeat is the end`() {
    var machine = machine(adapts: true, after: .resumed, .accepted, .attemptFailed)
    #expect(machine.handle(.accepted) == .complete)
  }

  @Test func `an answer that is to be asked for again is broken off`() {
    var machine = machine(adapts: true, after: .resumed, .accepted, .asked)
    #expect(machine.handle(.retried) == [.detach, .endActivity, .delay])
    #expect(machine.handle(.suspended) == .stopWaiting)
    #expect(machine.handle(.delayEnded) == [])
    #expect(machine.handle(.resumed) == [.beginActivity, .adapt])
  }

  @Test func `whatever happens, activity is balanced, there is one end, and libcurl has one attempt at most`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<1_000 {
      var machine = TransferMachine(
        waitsForPath: .random(using: &generator), adapts: .random(using: &generator))
      var (isActive, isAttached, isWaiting, completions) = (false, false, false, 0)
      for step in 0..<30 {
        var event = TransferMachine.Event.allCases.randomElement(using: &generator) ?? .resumed
        if step == 29 { event = .cancelled }
        // libcurl reports nothing about an attempt that it does not have, and such an attempt causes no question.
        let isEnd = [.attemptEnded, .attemptFailed, .attemptRedirected, .attemptWentOffline].contains(event)
        if isEnd || event == .asked, !isAttached { continue }
        if isEnd { isAttached = false }
        let effects = machine.handle(event)
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
        if effects.contains(.waitForPath) || effects.contains(.delay) {
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
}
