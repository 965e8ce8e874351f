import Netwatch
import NetwatchTestSupport
import Testing

/// Conditions of a monitor, and waiting for them.
@Suite struct NetworkConditionTests {
  private static func path(_ status: ReachabilityStatus, expense: Expense? = nil) -> NetworkPath {
    var verdict = NetworkPath.Verdict(status: status)
    if status.isReachable { verdict.medium = .wired }
    verdict.cost.expense = expense
    return NetworkPath(verdict: verdict, reason: .routeUp, interfaces: [])
  }

  @Test func `all conditions have to hold`() {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    #expect(monitor.holds(.notReachable))
    #expect(!monitor.holds(.reachable))
    fake.feed.broadcast.publish(Self.path(.wifi, expense: .rule))
    #expect(monitor.holds(.reachable, .wifi, .medium(.wired), .notVPN))
    #expect(!monitor.holds(.reachable, .unmetered))
    fake.feed.broadcast.publish(Self.path(.unknown))
    #expect(!monitor.holds(.reachable) && !monitor.holds(.notReachable))
  }

  @Test func `what nobody has found out does not hold`() throws {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let network = try #require(NetworkIdentity("852628548a033a7e"))
    var path = Self.path(.wifi)
    fake.feed.broadcast.publish(path)
    #expect(!monitor.holds(.internet) && !monitor.holds(.network(network)) && !monitor.holds(.stage(.gateway)))
    path.findings.internet = .full
    path.findings.network = network
    path.findings.stages = NetworkStages {
      $0 == .gateway ? StageFinding(.neighbourReachable) : StageFinding(.notExamined)
    }
    fake.feed.broadcast.publish(path)
    #expect(monitor.holds(.internet, .network(network), .stage(.gateway)))
    #expect(!monitor.holds(.stage(.dns)))
    path.findings.internet = .portal
    fake.feed.broadcast.publish(path)
    #expect(!monitor.holds(.internet))
  }

  @Test(.timeLimit(.minutes(1)))
  func `a wait ends with the first path for which all conditions hold`() async {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let wait = Task { await monitor.waitUntil(.reachable, .unmetered) }
    fake.feed.broadcast.publish(Self.path(.wifi, expense: .rule))
    fake.feed.broadcast.publish(Self.path(.wifi))
    #expect(await wait.value)
    #expect(await monitor.waitUntil(.reachable, within: .zero))
  }

  @Test(.timeLimit(.minutes(1)))
  func `a wait ends when its time is over`() async throws {
    let clock = ManualClock()
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let wait = Task { await monitor.waitUntil(.reachable, within: .seconds(5), clock: clock) }
    try await eventually(clock.sleeperCount) { $0 == 1 }
    clock.advance(by: .seconds(5))
    #expect(await !wait.value)
  }

  @Test(.timeLimit(.minutes(1)))
  func `a wait ends when its task is cancelled, and when netlink is lost`() async {
    let fake = FakeMonitor()
    let monitor = fake.monitor
    let cancelled = Task { await monitor.waitUntil(.reachable) }
    cancelled.cancel()
    #expect(await !cancelled.value)
    let lost = Task { await monitor.waitUntil(.reachable) }
    fake.feed.fail(FakeMonitor.error)
    #expect(await !lost.value)
    #expect(monitor.failure == FakeMonitor.error)
  }

  /// An actor that counts the paths that it gets.
  private actor Counter {
    private(set) var numbers: [Int32] = []
    func add(_ number: Int32) { numbers.append(number) }
  }

  /// Subscribes in a plain function, which is on no actor.
  private static func follow(_ monitor: NetworkMonitor, on counter: Counter) -> CallbackSubscription {
    monitor.onChange(on: counter) { path in counter.assumeIsolated { $0.add(path.number) } }
  }

  @Test func `a plain function names the actor that is called`() async throws {
    let fake = FakeMonitor()
    let counter = Counter()
    let subscription = Self.follow(fake.monitor, on: counter)
    try await eventually(await counter.numbers) { $0 == [0] }
    fake.publish(5)
    try await eventually(await counter.numbers) { $0 == [0, 5] }
    withExtendedLifetime(subscription) {}
  }
}
