import Glibc
import Netwatch
import Testing

@Suite struct DeliveryGateTests {
  @Test func `nothing passes a closed gate`() {
    let gate = DeliveryGate()
    var calls = 0
    gate.pass { calls += 1 }
    gate.close()
    gate.close()
    gate.pass { calls += 1 }
    #expect(calls == 1)
  }

  @Test func `a gate may be closed from within`() {
    let gate = DeliveryGate()
    var calls = 0
    gate.pass {
      calls += 1
      gate.close()
      gate.pass { calls += 1 }
    }
    gate.pass { calls += 1 }
    #expect(calls == 1)
  }

  @Test func `closing waits for the call that is under way`() {
    let gate = DeliveryGate()
    let steps = Lock<[String]>([])
    let isInside = Lock(false)
    let join = Threads.start {
      gate.pass {
        isInside.withLock { $0 = true }
        for _ in 0..<1_000 { sched_yield() }
        steps.withLock { $0.append("called") }
      }
    }
    while !isInside.withLock({ $0 }) { sched_yield() }
    gate.close()
    steps.withLock { $0.append("closed") }
    join()
    #expect(steps.withLock { $0 } == ["called", "closed"])
  }
}
