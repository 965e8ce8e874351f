import NetwatchTestSupport
import Synchronization
import Testing

@testable import Netwatch

@Suite(.timeLimit(.minutes(2))) struct ActivityIndicatorTests {
  /// An indicator on a clock that the test moves, and the visibilities that the indicator has told.
  final class Bench: Sendable {
    let clock = ManualClock()
    let indicator: ActivityIndicator
    let told = Lock<[Bool]>([])

    init(_ configuration: ActivityConfiguration = .init()) {
      indicator = ActivityIndicator(configuration, clock: clock)
    }

    func listen(initial: Bool = false) -> CallbackSubscription {
      indicator.onVisibilityChangeImmediately(initial: initial) { [told] isVisible in
        told.withLock { $0.append(isVisible) }
      }
    }

    /// Waits until the indicator has told exactly these values. A value is told after the state has changed, on the
    /// thread that changed it.
    func hasTold(_ values: [Bool], at place: SourceLocation = #_sourceLocation) async throws {
      try await eventually(told.withLock { $0 }, at: place) { $0 == values }
    }

    /// Moves the clock once the indicator waits for it, and waits until the indicator has reached `state`.
    func advance(
      by duration: Duration, to state: ActivityState, at place: SourceLocation = #_sourceLocation
    ) async throws {
      try await eventually(clock.sleeperCount, at: place) { $0 > 0 }
      clock.advance(by: duration)
      try await eventually(indicator.state, at: place) { $0 == state }
    }
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(Int64.min)])
  func `delays that no clock can hold do no harm`(_ delay: Duration) async throws {
    var configuration = ActivityConfiguration()
    configuration.activationDelay = delay
    configuration.completionDelay = delay
    // The indicator runs on the real clock, which accepts a smaller range of deadlines than `ManualClock`.
    let indicator = ActivityIndicator(configuration)
    let request = indicator.begin()
    if delay < .zero {
      // A negative delay is over at once, perhaps before anybody can look.
      try await eventually(indicator.state) { $0 == .active }
      request.end()
      try await eventually(indicator.state) { $0 == .inactive }
    } else {
      #expect(indicator.state == .delayingStart)
      // A shorter delay of another indicator, which begins later, ends in the meantime.
      var short = ActivityConfiguration()
      short.activationDelay = .milliseconds(1)
      let other = ActivityIndicator(short)
      let otherRequest = other.begin()
      try await eventually(other.state) { $0 == .active }
      otherRequest.end()
      #expect(indicator.state == .delayingStart)
      indicator.configuration.activationDelay = .zero
      indicator.isEnabled = false
      indicator.isEnabled = true
      try await eventually(indicator.state) { $0 == .active }
      request.end()
      #expect(indicator.state == .delayingEnd)
    }
  }

  @Test func `one long request is shown after a second, and 0.17 s longer`() async throws {
    let bench = Bench()
    let subscription = bench.listen(initial: true)
    let request = bench.indicator.begin("upload")
    #expect(bench.indicator.state == .delayingStart)
    #expect((bench.indicator.count, bench.indicator.labels) == (1, ["upload"]))
    try await bench.advance(by: .seconds(1), to: .active)
    #expect(bench.indicator.isVisible)
    try await bench.hasTold([false, true])
    request.end()
    #expect(bench.indicator.state == .delayingEnd)
    #expect(bench.indicator.isVisible)
    try await bench.advance(by: .milliseconds(170), to: .inactive)
    try await bench.hasTold([false, true, false])
    withExtendedLifetime(subscription) {}
  }

  @Test func `one short request is never shown`() async throws {
    let bench = Bench()
    let subscription = bench.listen()
    bench.indicator.begin().end()
    try await bench.advance(by: .seconds(1), to: .inactive)
    // The long request is the first one that the indicator shows.
    let long = bench.indicator.begin()
    try await bench.advance(by: .seconds(1), to: .active)
    try await bench.hasTold([true])
    long.end()
    withExtendedLifetime(subscription) {}
  }

  @Test func `a gap that is shorter than the linger is bridged`() async throws {
    let bench = Bench()
    let subscription = bench.listen()
    bench.indicator.began("a")
    try await bench.advance(by: .seconds(1), to: .active)
    try await bench.hasTold([true])
    for _ in 0..<50 {
      bench.indicator.ended("a")
      bench.clock.advance(by: .milliseconds(169))
      bench.indicator.began("a")
      bench.clock.advance(by: .milliseconds(500))
    }
    bench.indicator.ended("a")
    try await bench.advance(by: .milliseconds(170), to: .inactive)
    try await bench.hasTold([true, false])
    withExtendedLifetime(subscription) {}
  }

  @Test func `who reports requests is called once for all changes until they are taken, and at each first and last`() {
    let indicator = ActivityIndicator()
    let calls = Atomic(0)
    indicator.onRequestChange(of: indicator) { calls.add(1, ordering: .relaxed) }
    let first = indicator.begin("a")
    #expect(calls.load(ordering: .relaxed) == 1)
    for _ in 0..<100 { indicator.begin().end() }
    #expect(calls.load(ordering: .relaxed) == 1)
    let second = indicator.begin()
    #expect(indicator.takeRequests() == (2, ["a"]))
    second.end()
    #expect(calls.load(ordering: .relaxed) == 2)
    first.end()
    #expect(calls.load(ordering: .relaxed) == 3)
    indicator.onRequestChange(of: indicator, nil)
    indicator.began("x")
    #expect(calls.load(ordering: .relaxed) == 3)
  }

  @Test func `a token that is dropped has ended`() {
    let indicator = ActivityIndicator()
    func work() { let request = indicator.begin(); _ = request }
    work()
    #expect(indicator.count == 0)
  }

  @Test func `ending twice ends one`() {
    let indicator = ActivityIndicator()
    let other = indicator.begin()
    let request = indicator.begin()
    request.end()
    request.end()
    #expect(indicator.count == 1)
    other.end()
    #expect(indicator.count == 0)
  }

  @Test func `disabled it is hidden at once, enabled it looks at what runs`() async throws {
    let bench = Bench()
    let subscription = bench.listen()
    bench.indicator.began(1)
    try await bench.advance(by: .seconds(1), to: .active)
    try await bench.hasTold([true])
    bench.indicator.isEnabled = false
    #expect(bench.told.withLock { $0 } == [true, false])
    #expect((bench.indicator.state, bench.indicator.count) == (.inactive, 1))
    bench.indicator.isEnabled = true
    try await bench.advance(by: .seconds(1), to: .active)
    try await bench.hasTold([true, false, true])
    withExtendedLifetime(subscription) {}
  }

  @Test func `delays can be changed, and be zero`() async throws {
    let bench = Bench()
    bench.indicator.configuration.activationDelay = .zero
    let request = bench.indicator.begin()
    try await eventually(bench.indicator.state) { $0 == .active }
    request.end()
  }

  @Test func `nothing comes after cancel`() async throws {
    let bench = Bench()
    let subscription = bench.listen()
    bench.indicator.began(1)
    subscription.cancel()
    try await bench.advance(by: .seconds(1), to: .active)
    #expect(bench.told.withLock { $0 } == [])
  }

  @Test @MainActor func `a callback on an actor, and a sequence`() async throws {
    let bench = Bench()
    var told: [Bool] = []
    let subscription = bench.indicator.onVisibilityChange { told.append($0) }
    #expect(told == [false])
    var sequence = bench.indicator.visibility.makeAsyncIterator()
    #expect(await sequence.next(isolation: #isolation) == false)
    let request = bench.indicator.begin()
    try await bench.advance(by: .seconds(1), to: .active)
    #expect(await sequence.next(isolation: #isolation) == true)
    try await eventually(told.count) { $0 >= 2 }
    #expect(told == [false, true])
    request.end()
    withExtendedLifetime(subscription) {}
  }

  @Test func `a slow observer does not hear a value twice`() async throws {
    let bench = Bench()
    let queue = HandQueue()
    let told = Lock<[Bool]>([])
    let subscription = bench.indicator.onVisibilityChange(enqueue: { queue.add($0) }) { value in
      told.withLock { $0.append(value) }
    }
    queue.runAll()
    bench.indicator.began(1)
    try await bench.advance(by: .seconds(1), to: .active)
    bench.indicator.isEnabled = false
    queue.runAll()
    #expect(told.withLock { $0 } == [false])
    withExtendedLifetime(subscription) {}
  }

  @Test func `an indicator that is released leaves nobody waiting`() async throws {
    weak var indicator: ActivityIndicator?
    let clock = ManualClock()
    do {
      let made = ActivityIndicator(.init(), clock: clock)
      indicator = made
      made.began(1)
      #expect(indicator != nil)
    }
    #expect(indicator == nil)
    try await eventually(clock.sleeperCount) { $0 > 0 }
    clock.advance(by: .seconds(1))
  }

  /// Requests end before they begin, begin or end twice, and are dropped without an end.
  ///
  /// The threads wait for each other after every 64 steps, because a set remembers only the last 1,024 ids that ended.
  /// A thread that waits for a processor between an end and its begin could otherwise find the end forgotten.
  @Test(arguments: [ActivityWalkTests.operations])
  func `eight threads, and nothing is left over`(_ operations: Int) async throws {
    var configuration = ActivityConfiguration()
    configuration.activationDelay = .milliseconds(1)
    configuration.completionDelay = .milliseconds(1)
    let indicator = ActivityIndicator(configuration)
    let told = Lock<[Bool]>([])
    let subscription = indicator.onVisibilityChange(enqueue: { $0() }) { value in told.withLock { $0.append(value) } }
    let stepsPerRound = 64
    for round in 0..<UInt64(operations / 8 / stepsPerRound) {
      await withTaskGroup { group in
        for thread in UInt64(0)..<8 {
          group.addTask {
            var random = SplitMix(seed: round << 3 | thread)
            for step in 0..<UInt64(stepsPerRound) {
              let id = RequestID((round * UInt64(stepsPerRound) + step) << 3 | thread)
              switch Int.random(in: 0..<5, using: &random) {
              case 0:
                indicator.began(id)
                indicator.began(id)
                indicator.ended(id)
                indicator.ended(id)
              case 1:
                indicator.ended(id)
                indicator.began(id)
              case 2: indicator.begin().end()
              case 3:
                let token = indicator.begin()
                token.end()
                token.end()
              default: _ = indicator.begin("dropped")
              }
            }
          }
        }
      }
    }
    try #require(indicator.count == 0)
    try await eventually((indicator.state, told.withLock { $0.last })) { $0 == .inactive && $1 == false }
    let all = told.withLock { $0 }
    #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 })
    withExtendedLifetime(subscription) {}
  }
}
