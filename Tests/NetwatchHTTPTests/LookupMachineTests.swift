import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct LookupMachineTests {
  private typealias Event = LookupMachine.Event
  private typealias Effect = LookupMachine.Effect

  @Test func `whoever wants the same name waits for the same lookup`() {
    var machine = LookupMachine()
    #expect(machine.handle(.wanted("a", by: 1), at: .zero) == [.ask("a", number: 1)])
    #expect(machine.handle(.wanted("a", by: 2), at: .zero) == [])
    #expect(machine.handle(.wanted("b", by: 3), at: .zero) == [.ask("b", number: 2)])
    #expect(machine.handle(.answered(number: 1, found: true), at: .zero) == [.tell([1, 2])])
    #expect(!machine.isIdle)
    #expect(machine.handle(.answered(number: 2, found: false), at: .zero) == [.tell([3])])
    #expect(machine.isIdle)
  }

  @Test func `an answer is good for those who waited, and the next one asks again`() {
    var machine = LookupMachine()
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    _ = machine.handle(.answered(number: 1, found: true), at: .zero)
    #expect(machine.handle(.wanted("a", by: 1), at: .zero) == [.ask("a", number: 2)])
  }

  @Test func `a lookup that is left behind takes its place until it ends`() {
    var machine = LookupMachine()
    for place in 1...LookupMachine.most {
      #expect(machine.handle(.wanted("\(place)", by: RequestID("\(place)")), at: .zero).count == 1)
    }
    let late = RequestID("late")
    #expect(machine.handle(.wanted("late", by: late), at: .zero) == [])
    let other = RequestID("other")
    #expect(machine.handle(.wanted("never", by: other), at: .zero) == [])
    #expect(machine.handle(.dropped(by: other), at: .zero) == [])
    #expect(machine.handle(.answered(number: 3, found: false), at: .zero).last == .ask("late", number: 17))
    #expect(machine.handle(.answered(number: 4, found: false), at: .zero).count == 1, "nobody wants the other one")
    #expect(machine.handle(.answered(number: 17, found: true), at: .zero) == [.tell([late])])
  }

  @Test func `nobody is told who waits no more, and the lookup serves the next one`() {
    var machine = LookupMachine()
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    #expect(machine.handle(.dropped(by: 1), at: .zero) == [])
    #expect(machine.handle(.wanted("a", by: 2), at: .zero) == [])
    #expect(machine.handle(.answered(number: 1, found: true), at: .zero) == [.tell([2])])
  }

  @Test func `after a change of the network a name is asked for again, and the first answer counts`() {
    var machine = LookupMachine()
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    #expect(machine.handle(.networkChanged, at: LookupMachine.youth) == [.ask("a", number: 2)])
    let youth = LookupMachine.youth
    #expect(machine.handle(.networkChanged, at: youth) == [.wake(at: youth * 2)], "the second one is young")
    #expect(machine.handle(.answered(number: 1, found: false), at: .seconds(1)) == [], "the other one runs")
    #expect(machine.handle(.answered(number: 2, found: true), at: .seconds(1)) == [.tell([1])])
    #expect(machine.handle(.woke, at: .seconds(1)) == [])
    #expect(machine.isIdle)
  }

  @Test func `a young lookup has its time, and is then asked for again if it has no answer`() {
    var machine = LookupMachine()
    let youth = LookupMachine.youth
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    _ = machine.handle(.wanted("b", by: 2), at: .milliseconds(10))
    for _ in 0..<3 { #expect(machine.handle(.networkChanged, at: .milliseconds(20)) == [.wake(at: youth)]) }
    _ = machine.handle(.wanted("c", by: 3), at: .milliseconds(30))
    #expect(machine.handle(.woke, at: youth) == [.wake(at: youth + .milliseconds(10)), .ask("a", number: 4)])
    #expect(machine.handle(.answered(number: 2, found: true), at: youth) == [.tell([2])])
    #expect(machine.handle(.woke, at: youth + .seconds(1)) == [], "the third one began after the change")
    #expect(machine.handle(.answered(number: 4, found: true), at: youth) == [.tell([1])])
  }

  @Test func `the last failure is told`() {
    var machine = LookupMachine()
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    _ = machine.handle(.networkChanged, at: .seconds(1))
    #expect(machine.handle(.answered(number: 2, found: false), at: .seconds(1)) == [])
    #expect(machine.handle(.answered(number: 1, found: false), at: .seconds(2)) == [.tell([1])])
  }

  @Test func `after a change of the network nobody joins an old lookup`() {
    var machine = LookupMachine()
    _ = machine.handle(.wanted("a", by: 1), at: .zero)
    _ = machine.handle(.dropped(by: 1), at: .zero)
    #expect(machine.handle(.networkChanged, at: .seconds(1)) == [], "nobody waits")
    #expect(machine.handle(.wanted("a", by: 2), at: .seconds(1)) == [.ask("a", number: 2)])
  }

  @Test(arguments: 0..<40) func `in random runs each request has one answer, and few lookups run`(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var machine = LookupMachine()
    var running: [Int] = []
    var waiting: Set<RequestID> = []
    var now = Duration.zero
    var wake: Duration?
    func take(_ effects: [Effect]) {
      for effect in effects {
        switch effect {
        case .ask(_, let number): running.append(number)
        case .tell(let ids):
          for id in ids { #expect(waiting.remove(id) != nil) }
        case .wake(let time): wake = time
        }
      }
      #expect(running.count <= LookupMachine.most)
    }
    for step in 0..<400 {
      now += .milliseconds(Int.random(in: 0...200, using: &random))
      if let due = wake, due <= now {
        wake = nil
        take(machine.handle(.woke, at: now))
      }
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let id = RequestID(UInt64(step))
        waiting.insert(id)
        take(machine.handle(.wanted("\(Int.random(in: 0..<24, using: &random))", by: id), at: now))
      case 2:
        guard let id = waiting.randomElement(using: &random) else { continue }
        waiting.remove(id)
        take(machine.handle(.dropped(by: id), at: now))
      case 3:
        guard let index = running.indices.randomElement(using: &random) else { continue }
        take(machine.handle(.answered(number: running.remove(at: index), found: .random(using: &random)), at: now))
      default: take(machine.handle(.networkChanged, at: now))
      }
    }
    while let number = running.popLast() { take(machine.handle(.answered(number: number, found: false), at: now)) }
    #expect(waiting.isEmpty && machine.isIdle)
  }
}
