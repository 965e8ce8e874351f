import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct PathSequenceTests {
  @Test func `a sequence begins with the current path`() async throws {
    let fake = FakeMonitor()
    fake.publish(5)
    var iterator = fake.monitor.paths.makeAsyncIterator()
    #expect(try await iterator.next()?.number == 5)
    fake.publish(6)
    fake.publish(7)
    #expect(try await iterator.next()?.number == 7)
  }

  @Test func `a waiting reader is woken`() async throws {
    let fake = FakeMonitor()
    let paths = fake.monitor.paths
    let task = Task { () throws(NetworkMonitorError) -> [Int32] in
      var numbers: [Int32] = []
      for try await path in paths {
        numbers.append(path.number)
        if path.number == 9 { break }
      }
      return numbers
    }
    for _ in 0..<50 { await Task.yield() }
    fake.publish(9)
    let numbers = try await task.value
    #expect(numbers.last == 9)
  }

  @Test func `the last path comes before the error, which is thrown once`() async throws {
    let fake = FakeMonitor()
    var iterator = fake.monitor.paths.makeAsyncIterator()
    #expect(try await iterator.next()?.number == 0)
    fake.feed.fail(FakeMonitor.error)
    #expect(try await iterator.next()?.status == .unknown)
    await #expect(throws: FakeMonitor.error) { try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(try await iterator.next() == nil)
  }

  @Test func `an iterator keeps its monitor`() async throws {
    let fake = FakeMonitor()
    var iterator: LatestValues<NetworkPath, NetworkMonitorError>.Iterator? = fake.monitor.paths.makeAsyncIterator()
    #expect(try await iterator?.next()?.number == 0)
    #expect(fake.stops.withLock { $0 } == 0)
    iterator = nil
    #expect(fake.stops.withLock { $0 } == 1)
  }

  @Test func `the release of a monitor ends its broadcast`() {
    let fake = FakeMonitor()
    let subscriber = fake.feed.broadcast.subscribe(initial: false) {}
    do { _ = fake.monitor }
    guard case .ended(.success) = subscriber.poll() else { return #expect(Bool(false)) }
  }

  @Test func `a cancelled reader ends`() async throws {
    let fake = FakeMonitor()
    let paths = fake.monitor.paths
    let task = Task { () throws(NetworkMonitorError) -> Int in
      var count = 0
      for try await _ in paths { count += 1 }
      return count
    }
    for _ in 0..<50 { await Task.yield() }
    task.cancel()
    #expect(try await task.value <= 1)
  }

  @Test func `iterators read on their own`() async throws {
    let fake = FakeMonitor()
    let paths = fake.monitor.paths
    var first = paths.makeAsyncIterator()
    var second = paths.makeAsyncIterator()
    #expect(try await first.next()?.number == 0)
    fake.publish(1)
    #expect(try await first.next()?.number == 1)
    #expect(try await second.next()?.number == 1)
  }

  @Test func `statistics are those of the source`() {
    let fake = FakeMonitor()
    var statistics = ScriptedKernel.online().machine.statistics
    #expect(statistics.listings == 1 && statistics.transitions == 1 && statistics.facts == 3)
    fake.feed.statistics.withLock { $0 = statistics }
    #expect(fake.monitor.statistics == statistics)
    statistics = MonitorStatistics()
    #expect(fake.monitor.statistics != statistics)
  }
}
