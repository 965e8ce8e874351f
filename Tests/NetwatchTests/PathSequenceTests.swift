import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct PathSequenceTests {
  /// An executor that runs a task on the thread of the test until the task waits.
  private final class Stepper: TaskExecutor {
    private let jobs = Lock<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    func runUntilItWaits() {
      while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
      }
    }
  }

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
    let (stepper, numbers) = (Stepper(), Lock<[Int32]>([]))
    let task = Task(executorPreference: stepper) {
      for try await path in paths {
        numbers.withLock { $0.append(path.number) }
        if path.number == 9 { break }
      }
    }
    stepper.runUntilItWaits()
    #expect(numbers.withLock { $0 } == [0])
    fake.publish(9)
    stepper.runUntilItWaits()
    try #require(numbers.withLock { $0 } == [0, 9])
    try await task.value
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
    var iterator = Optional(fake.monitor.paths.makeAsyncIterator())
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
    let (stepper, counts) = (Stepper(), Lock<[Int]>([]))
    // The first reader waits when it is cancelled. The second one has not begun.
    for isWaiting in [true, false] {
      let task = Task(executorPreference: stepper) {
        var count = 0
        for try await _ in paths { count += 1 }
        counts.withLock { $0.append(count) }
      }
      if isWaiting { stepper.runUntilItWaits() }
      task.cancel()
      stepper.runUntilItWaits()
    }
    #expect(counts.withLock { $0 } == [1, 0])
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
