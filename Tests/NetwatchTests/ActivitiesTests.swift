import Netwatch
import NetwatchObservation
import NetwatchTestSupport
import Observation
import Testing

/// The count, the state and the labels of an indicator as values that can be followed.
@Suite(.timeLimit(.minutes(1))) struct ActivitiesTests {
  @Test func `the activity has the state, the count and the labels of one moment`() {
    let indicator = ActivityIndicator(.init(), clock: ManualClock())
    #expect(indicator.activity == .init(state: .inactive, count: 0, labels: [:]))
    let first = indicator.begin("upload")
    let second = indicator.begin("upload")
    let third = indicator.begin()
    #expect(indicator.activity == .init(state: .delayingStart, count: 3, labels: ["upload": 2]))
    #expect("\(indicator.activity)" == "\(indicator.state), 3 in flight (upload 2)")
    first.end()
    second.end()
    third.end()
    #expect(indicator.activity.count == 0)
  }

  @Test func `each change of the requests and of the state comes to a reader`() async throws {
    let clock = ManualClock()
    let indicator = ActivityIndicator(.init(), clock: clock)
    var reader = indicator.activities.makeAsyncIterator()
    #expect(await reader.next(isolation: #isolation) == .init(state: .inactive, count: 0, labels: [:]))
    let first = indicator.begin("a")
    #expect(await reader.next(isolation: #isolation) == .init(state: .delayingStart, count: 1, labels: ["a": 1]))
    let second = indicator.begin("b")
    #expect(
      await reader.next(isolation: #isolation) == .init(state: .delayingStart, count: 2, labels: ["a": 1, "b": 1]))
    try await eventually(clock.sleeperCount) { $0 == 1 }
    clock.advance(by: .seconds(1))
    #expect(await reader.next(isolation: #isolation)?.state == .active)
    first.end()
    #expect(await reader.next(isolation: #isolation) == .init(state: .active, count: 1, labels: ["b": 1]))
    second.end()
    #expect(await reader.next(isolation: #isolation) == .init(state: .delayingEnd, count: 0, labels: [:]))
    try await eventually(clock.sleeperCount) { $0 >= 1 }
    clock.advance(by: .milliseconds(170))
    #expect(await reader.next(isolation: #isolation)?.state == .inactive)
  }

  @Test func `two readers do not take each other's changes`() async {
    let indicator = ActivityIndicator(.init(), clock: ManualClock())
    var one = indicator.activities.makeAsyncIterator()
    var other = indicator.activities.makeAsyncIterator()
    #expect(await one.next(isolation: #isolation)?.count == 0)
    #expect(await other.next(isolation: #isolation)?.count == 0)
    for count in 1...20 {
      let token = indicator.begin()
      #expect(await one.next(isolation: #isolation)?.count == 1)
      if count % 2 == 0 { #expect(await other.next(isolation: #isolation)?.count == 1) }
      token.end()
      #expect(await one.next(isolation: #isolation)?.count == 0)
      if count % 2 == 0 { #expect(await other.next(isolation: #isolation)?.count == 0) }
    }
  }

  @Test func `an indicator that nobody follows any more has no observer left`() async {
    weak var released: ActivityIndicator?
    do {
      let indicator = ActivityIndicator(.init(), clock: ManualClock())
      released = indicator
      var reader = indicator.activities.makeAsyncIterator()
      _ = await reader.next(isolation: #isolation)
    }
    #expect(released == nil)
  }
}

/// The model for user interfaces.
@Suite(.timeLimit(.minutes(1))) @MainActor struct NetworkModelTests {
  /// Waits until a property that `read` reads is about to change.
  private func change(of read: @escaping () -> Void, after body: () -> Void) async {
    await withCheckedContinuation { continuation in
      withObservationTracking(read) { continuation.resume() }
      body()
    }
    // The change is made when this task lets others run.
    await Task.yield()
  }

  @Test func `a view that reads the path is updated when the path changes`() async {
    let fake = FakeMonitor()
    let model = NetworkModel(fake.monitor)
    #expect(!model.path.isReachable)
    #expect(model.activity == nil)
    let path = NetworkPath(verdict: .init(status: .wifi), reason: .routeUp, interfaces: [])
    await change(of: { _ = model.path }) { fake.feed.broadcast.publish(path) }
    #expect(model.path == path)
  }

  @Test func `a view that reads the activity is updated when a request begins`() async {
    let fake = FakeMonitor()
    let indicator = ActivityIndicator(.init(), clock: ManualClock())
    let model = NetworkModel(fake.monitor, activity: indicator)
    #expect(model.activity?.count == 0)
    let token = Holder(indicator)
    await change(of: { _ = model.activity }) { token.begin() }
    #expect(model.activity?.count == 1)
  }

  @Test func `the failure of the monitor is told`() async {
    let fake = FakeMonitor()
    let model = NetworkModel(fake.monitor)
    await change(of: { _ = model.failure }) { fake.feed.fail(FakeMonitor.error) }
    #expect(model.failure == FakeMonitor.error)
    #expect(model.path.status == .unknown)
  }

  @Test func `a model that is released releases the monitor`() async throws {
    var monitor: NetworkMonitor? = FakeMonitor().monitor
    weak let released = monitor
    var model = try NetworkModel(#require(monitor))
    monitor = nil
    #expect(released != nil)
    model = NetworkModel(FakeMonitor().monitor)
    try await eventually(released == nil) { $0 }
    withExtendedLifetime(model) {}
  }

  private final class Holder {
    private let indicator: ActivityIndicator
    private var id: RequestID?
    init(_ indicator: ActivityIndicator) { self.indicator = indicator }
    func begin() {
      let id = RequestID(1)
      self.id = id
      indicator.began(id, isIndicated: true)
    }
  }
}
