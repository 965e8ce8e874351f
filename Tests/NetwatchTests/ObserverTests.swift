import Netwatch
import NetwatchTestSupport
import Testing

extension NetworkPath {
  /// Returns a path that differs from others only in its number.
  static func number(_ number: Int32) -> NetworkPath {
    var verdict = Verdict.notReachable
    verdict.interfaceIndex = number
    return NetworkPath(verdict: verdict, reason: .routeUp, interfaces: [])
  }

  var number: Int32 { verdict.interfaceIndex ?? -1 }
}

/// A monitor without a kernel. A test publishes its paths.
struct FakeMonitor {
  let feed = MonitorFeed(.number(0))
  let stops = Lock(0)
  var monitor: NetworkMonitor { NetworkMonitor(feed: feed) { [stops] in stops.withLock { $0 += 1 } } }
  func publish(_ numbers: Int32...) { for number in numbers { feed.broadcast.publish(.number(number)) } }
  static let error = NetworkMonitorError(operation: "recv", code: 12, description: "gone")
}

/// A queue that runs its jobs only when a test tells it to.
final class HandQueue: Sendable {
  private let jobs = Lock<[@Sendable () -> Void]>([])
  var count: Int { jobs.withLock { $0.count } }
  func add(_ job: @escaping @Sendable () -> Void) { jobs.withLock { $0.append(job) } }

  func runAll() {
    while true {
      let next = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      guard let next else { return }
      next()
    }
  }
}

@Suite struct ObserverTests {
  final class Log: Sendable {
    private let numbers = Lock<[Int32]>([])
    func add(_ path: NetworkPath) { numbers.withLock { $0.append(path.number) } }
    var all: [Int32] { numbers.withLock { $0 } }
  }

  // MARK: At once

  @Test(arguments: [true, false])
  func `an immediate observer hears everything in order`(_ initial: Bool) {
    let fake = FakeMonitor()
    let log = Log()
    let subscription = fake.monitor.onChangeImmediately(initial: initial) { log.add($0) }
    #expect(log.all == (initial ? [0] : []))
    fake.publish(1, 2, 3)
    #expect(log.all == (initial ? [0, 1, 2, 3] : [1, 2, 3]))
    subscription.cancel()
    fake.publish(4)
    #expect(log.all.last == 3)
  }

  @Test func `several observers hear the same`() {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let logs = [Log(), Log(), Log()]
    let subscriptions = logs.map { log in monitor.onChangeImmediately { log.add($0) } }
    fake.publish(1)
    subscriptions[1].cancel()
    fake.publish(2)
    #expect(logs.map(\.all) == [[0, 1, 2], [0, 1], [0, 1, 2]])
    withExtendedLifetime(subscriptions) {}
  }

  @Test func `an observer may cancel itself while it is called`() {
    let fake = FakeMonitor()
    let log = Log()
    let own = Lock<CallbackSubscription?>(nil)
    let subscription = fake.monitor.onChangeImmediately(initial: false) { path in
      own.withLock { $0 }?.cancel()
      log.add(path)
    }
    own.withLock { $0 = subscription }
    fake.publish(1, 2)
    #expect(log.all == [1])
    own.withLock { $0 = nil }
  }

  @Test func `a subscription keeps its monitor, and its end lets it go`() {
    let fake = FakeMonitor()
    var subscription: CallbackSubscription? = fake.monitor.onChangeImmediately { _ in }
    #expect(fake.stops.withLock { $0 } == 0)
    subscription?.cancel()
    subscription = nil
    #expect(fake.stops.withLock { $0 } == 1)
  }

  @Test func `the end of the last reference ends the calls`() {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let log = Log()
    _ = monitor.onChangeImmediately { log.add($0) }
    fake.publish(1)
    #expect(log.all == [0])
    withExtendedLifetime(monitor) {}
  }

  @Test func `a failure tells a last unknown path`() {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let statuses = Lock<[ReachabilityStatus]>([])
    let subscription = monitor.onChangeImmediately { path in statuses.withLock { $0.append(path.status) } }
    #expect(monitor.failure == nil)
    fake.feed.fail(FakeMonitor.error)
    fake.publish(1)
    #expect(statuses.withLock { $0 } == [.notReachable, .unknown])
    #expect(monitor.currentPath.status == .unknown)
    #expect(monitor.currentPath.reason == .unresolved)
    #expect(monitor.failure == FakeMonitor.error)
    withExtendedLifetime(subscription) {}
  }

  // MARK: On a queue

  @Test func `at most one call waits in the queue, and delivers the newest`() {
    let fake = FakeMonitor()
    let queue = HandQueue()
    let log = Log()
    let subscription = fake.monitor.onChange(enqueue: { queue.add($0) }) { log.add($0) }
    #expect(queue.count == 1)
    fake.publish(1, 2, 3)
    #expect(queue.count == 1)
    queue.runAll()
    #expect(log.all == [3])
    fake.publish(4)
    queue.runAll()
    #expect(log.all == [3, 4])
    fake.publish(5)
    subscription.cancel()
    queue.runAll()
    #expect(log.all == [3, 4])
  }

  @Test func `without the initial value the queue's first call is for a change`() {
    let fake = FakeMonitor()
    let queue = HandQueue()
    let log = Log()
    let subscription = fake.monitor.onChange(initial: false, enqueue: { queue.add($0) }) { log.add($0) }
    queue.runAll()
    #expect(log.all == [])
    fake.publish(1)
    queue.runAll()
    #expect(log.all == [1])
    withExtendedLifetime(subscription) {}
  }

  // MARK: On an actor

  @MainActor @Test func `on an actor the first value comes before the call returns`() async throws {
    let fake = FakeMonitor()
    var numbers: [Int32] = []
    let subscription = fake.monitor.onChange { path in
      MainActor.assertIsolated()
      numbers.append(path.number)
    }
    #expect(numbers == [0])
    fake.publish(7)
    try await eventually(numbers.count) { $0 >= 2 }
    #expect(numbers == [0, 7])
    subscription.cancel()
    // Another observer is called for the same change, but later.
    var others: [Int32] = []
    let other = fake.monitor.onChange { others.append($0.number) }
    fake.publish(8)
    try await eventually(others) { $0 == [7, 8] }
    #expect(numbers == [0, 7])
    other.cancel()
  }

  @MainActor @Test func `on an actor the first value can be declined`() async throws {
    let fake = FakeMonitor()
    var numbers: [Int32] = []
    let subscription = fake.monitor.onChange(initial: false) { numbers.append($0.number) }
    #expect(numbers == [])
    fake.publish(1)
    try await eventually(numbers) { !$0.isEmpty }
    #expect(numbers == [1])
    withExtendedLifetime(subscription) {}
  }

  // MARK: An actor that is released

  /// An actor that observes a monitor, as actors in apps do. It records that it was released.
  actor Recorder {
    private let log = Log()
    private let isGone: Lock<Bool>
    private var numbers: [Int32] = []
    private var subscription: CallbackSubscription?

    init(_ isGone: Lock<Bool>) { self.isGone = isGone }

    deinit { isGone.withLock { $0 = true } }

    func observe(_ monitor: NetworkMonitor) -> Log {
      subscription = monitor.onChange { [log] in log.add($0) }
      return log
    }

    func observeWeakly(_ monitor: NetworkMonitor) {
      subscription = monitor.onChange { [weak self] path in
        self?.assumeIsolated { $0.numbers.append(path.number) }
      }
    }

    func observeStrongly(_ monitor: NetworkMonitor) -> CallbackSubscription? {
      subscription = monitor.onChange { path in self.numbers.append(path.number) }
      return subscription
    }

    func observe(_ indicator: ActivityIndicator) {
      subscription = indicator.onVisibilityChange { [weak self] isVisible in
        self?.assumeIsolated { $0.numbers.append(isVisible ? 1 : 0) }
      }
    }

    /// Returns the numbers as soon as there are at least `count`.
    func numbers(_ count: Int, at place: SourceLocation = #_sourceLocation) async throws -> [Int32] {
      try await eventually(numbers, at: place) { $0.count >= count }
    }
  }

  private static func wait(for flag: Lock<Bool>, at place: SourceLocation = #_sourceLocation) async throws {
    try await eventually(flag.withLock { $0 }, at: place) { $0 }
  }

  /// Waits until the actor of another monitor has been called for a change. Calls that were due earlier have then been
  /// made.
  private static func waitForAnother() async throws {
    let fake = FakeMonitor()
    let recorder = Recorder(Lock(false))
    await recorder.observeWeakly(fake.monitor)
    fake.publish(1)
    #expect(try await recorder.numbers(2) == [0, 1])
  }

  @Test func `an actor that the body does not hold goes, and with it the subscription`() async throws {
    let fake = FakeMonitor()
    let isGone = Lock(false)
    var recorder: Recorder? = Recorder(isGone)
    let log = await recorder?.observe(fake.monitor)
    #expect(log?.all == [0])
    fake.publish(1)
    try await eventually(log?.all) { $0?.count != 1 }
    #expect(!isGone.withLock { $0 })
    recorder = nil
    try await Self.wait(for: isGone)
    // Only the actor held the monitor, so the monitor has stopped.
    #expect(fake.stops.withLock { $0 } == 1)
    fake.publish(2)
    try await Self.waitForAnother()
    #expect(log?.all == [0, 1])
  }

  @Test func `an actor that the body holds weakly is called on itself, and goes`() async throws {
    let fake = FakeMonitor()
    let isGone = Lock(false)
    var recorder: Recorder? = Recorder(isGone)
    await recorder?.observeWeakly(fake.monitor)
    fake.publish(1)
    #expect(try await recorder?.numbers(2) == [0, 1])
    fake.publish(2)
    #expect(try await recorder?.numbers(3) == [0, 1, 2])
    recorder = nil
    try await Self.wait(for: isGone)
    #expect(fake.stops.withLock { $0 } == 1)
  }

  @Test func `an actor that the body holds goes when it is cancelled`() async throws {
    let fake = FakeMonitor()
    let isGone = Lock(false)
    var recorder: Recorder? = Recorder(isGone)
    let subscription = await recorder?.observeStrongly(fake.monitor)
    fake.publish(1)
    #expect(try await recorder?.numbers(2) == [0, 1])
    recorder = nil
    try await Self.waitForAnother()
    #expect(!isGone.withLock { $0 })
    subscription?.cancel()
    try await Self.wait(for: isGone)
  }

  @Test func `an actor that follows an indicator goes`() async throws {
    let indicator = ActivityIndicator()
    let isGone = Lock(false)
    var recorder: Recorder? = Recorder(isGone)
    await recorder?.observe(indicator)
    #expect(try await recorder?.numbers(1) == [0])
    recorder = nil
    try await Self.wait(for: isGone)
  }

  // MARK: Races

  @Test func `nothing is called once cancel has returned`() {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let isOver = Lock(false)
    let stopPublishing = Threads.start {
      var number: Int32 = 1
      while !isOver.withLock({ $0 }) {
        fake.publish(number)
        number += 1
      }
    }
    let late = Lock(0)
    let called = Lock(0)
    Threads.run(8) { thread in
      for round in 0..<500 {
        let isCancelled = Lock(false)
        let body: @Sendable (NetworkPath) -> Void = { _ in
          called.withLock { $0 += 1 }
          if isCancelled.withLock({ $0 }) { late.withLock { $0 += 1 } }
        }
        let subscription =
          (thread + round).isMultiple(of: 2)
          ? monitor.onChangeImmediately(body) : monitor.onChange(enqueue: { $0() }, body)
        subscription.cancel()
        isCancelled.withLock { $0 = true }
      }
    }
    isOver.withLock { $0 = true }
    stopPublishing()
    #expect(late.withLock { $0 } == 0)
    #expect(called.withLock { $0 } > 0)
  }
}
