import Testing

@testable import NetwatchCLI

/// The lines that wait for the writer of the log.
@Suite struct LogQueueTests {
  private func lines(_ queue: LogQueue) -> [LogQueue.Item] {
    var (queue, items) = (queue, [LogQueue.Item]())
    while let item = queue.first {
      items.append(item)
      queue.removeFirst()
    }
    return items
  }

  @Test(arguments: [1, 1_023, 1_024, 1_025, 1_026, 5_000])
  func `at most 1,024 lines wait, and the oldest says for how many it stands`(count: Int) {
    var queue = LogQueue()
    for number in 0..<count { queue.append(LogQueue.Item(line: Array("\(number)".utf8))) }
    let items = lines(queue)
    #expect(items.count == min(count, 1_024))
    #expect(items.reduce(0) { $0 + $1.changes } == count)
    #expect(items.dropFirst().allSatisfy { $0.changes == 1 })
    let first = max(count - 1_024, 0)
    #expect(items.map(\.line) == (first..<count).map { Array("\($0)".utf8) })
  }

  @Test func `what has gone makes room`() {
    var queue = LogQueue()
    for number in 0..<2_000 {
      queue.append(LogQueue.Item(line: Array("\(number)".utf8)))
      if number.isMultiple(of: 2) { queue.removeFirst() }
    }
    #expect(lines(queue).map(\.line) == (1_000..<2_000).map { Array("\($0)".utf8) })
    #expect(lines(queue).allSatisfy { $0.changes == 1 })
  }
}
