import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct BatchMachineTests {
  @Test func `a batch of nothing is complete`() {
    var machine = BatchMachine(count: 0, limit: 4)
    #expect(machine.handle(.began) == [.complete])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `each of 500 requests ends once, few run at a time, and the batch is complete once`(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    let limit = Int.random(in: 1...16, using: &random)
    let cancelsAt = seed % 2 == 0 ? Int.random(in: 0..<500, using: &random) : .max
    var machine = BatchMachine(count: 500, limit: limit)
    var running: Set<Int> = []
    var begun: [Int] = []
    var cancelled: Set<Int> = []
    var givenUp: Set<Int> = []
    var reports: [HTTPBatchProgress] = []
    var completions = 0
    var failures = 0

    func carryOut(_ effects: [BatchMachine.Effect]) {
      for effect in effects {
        switch effect {
        case .begin(let index):
          running.insert(index)
          begun.append(index)
        case .cancel(let index): cancelled.insert(index)
        case .giveUp(let index):
          givenUp.insert(index)
          failures += 1
        case .report(let progress): reports.append(progress)
        case .complete: completions += 1
        }
        #expect(running.count <= limit)
      }
    }

    carryOut(machine.handle(.began))
    while completions == 0, let index = running.randomElement(using: &random) {
      if reports.count >= cancelsAt, givenUp.isEmpty { carryOut(machine.handle(.cancelled)) }
      if random.oneIn(10) { #expect(machine.handle(.ended(999, isFailure: true)) == []) }
      let isFailure = random.oneIn(3) || cancelled.contains(index)
      failures += isFailure ? 1 : 0
      running.remove(index)
      carryOut(machine.handle(.ended(index, isFailure: isFailure)))
      #expect(machine.handle(.ended(index, isFailure: false)) == [])
    }
    #expect(completions == 1)
    #expect(running.isEmpty)
    #expect(begun == Array(0..<begun.count))
    #expect(begun.count + givenUp.count == 500)
    #expect(reports.map(\.finished) == Array(1...500))
    #expect(Set(reports.map(\.last)).count == 500)
    #expect(reports.last?.failed == failures)
    #expect(machine.handle(.cancelled).isEmpty || cancelsAt == .max)
  }
}
