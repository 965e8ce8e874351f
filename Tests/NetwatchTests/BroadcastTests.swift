import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

struct Failure: Error, Equatable {}

@Suite struct BroadcastTests {
  typealias Source = Broadcast<Int, Failure>

  static func values(_ subscriber: Source.Subscriber) -> [Int] {
    var values: [Int] = []
    while case .value(let value) = subscriber.poll() { values.append(value) }
    return values
  }

  @Test func `the newest value replaces an unread one`() {
    let source = Source(1)
    let subscriber = source.subscribe(initial: true) {}
    #expect(Self.values(subscriber) == [1])
    source.publish(2)
    source.publish(3)
    #expect(Self.values(subscriber) == [3])
    #expect(Self.values(subscriber) == [])
    #expect(source.latest == 3)
  }

  @Test func `the first value can be declined`() {
    let source = Source(1)
    let subscriber = source.subscribe(initial: false) {}
    #expect(Self.values(subscriber) == [])
    source.publish(2)
    #expect(Self.values(subscriber) == [2])
  }

  @Test func `subscribers read on their own`() {
    let source = Source(1)
    let wakes = Lock([0, 0])
    let first = source.subscribe(initial: true) { wakes.withLock { $0[0] += 1 } }
    let second = source.subscribe(initial: false) { wakes.withLock { $0[1] += 1 } }
    source.publish(2)
    #expect(Self.values(first) == [2])
    #expect(Self.values(second) == [2])
    source.unsubscribe(first)
    source.publish(3)
    #expect(Self.values(first) == [])
    #expect(Self.values(second) == [3])
    #expect(wakes.withLock { $0 } == [1, 2])
  }

  @Test func `a remembered value is told to nobody but newcomers`() {
    let source = Source(1)
    let old = source.subscribe(initial: false) {}
    source.remember(2)
    #expect(Self.values(old) == [])
    #expect(source.latest == 2)
    #expect(Self.values(source.subscribe(initial: true) {}) == [2])
  }

  @Test func `the last value comes before the end, and the first end counts`() {
    let source = Source(1)
    let subscriber = source.subscribe(initial: false) {}
    source.publish(2)
    source.end(.failure(Failure()))
    source.end(.success(()))
    source.publish(3)
    source.remember(4)
    #expect(Self.values(subscriber) == [2])
    guard case .ended(.failure) = subscriber.poll() else { return #expect(Bool(false)) }
    #expect(source.failure == Failure())
    #expect(source.latest == 2)
    let late = source.subscribe(initial: true) {}
    #expect(Self.values(late) == [2])
    guard case .ended(.failure) = late.poll() else { return #expect(Bool(false)) }
  }

  @Test func `of publishers that race the newest wins in every slot`() {
    let source = Source(0)
    let subscribers = (0..<4).map { _ in source.subscribe(initial: true) {} }
    Threads.run(4) { thread in
      for value in 1...1_000 { source.publish(thread * 1_000 + value) }
    }
    for subscriber in subscribers { #expect(Self.values(subscriber) == [source.latest]) }
  }
}

/// Threads whose end a test can wait for.
enum Threads {
  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Starts a thread. The function that is returned waits for the end of the thread.
  static func start(_ body: @escaping @Sendable () -> Void) -> () -> Void {
    var thread = pthread_t()
    let argument = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
    let code = unsafe pthread_create(
      &thread, nil,
      { argument in
        if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, argument)
    precondition(code == 0)
    let started = thread
    return { pthread_join(started, nil) }
  }

  static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let joins = (0..<count).map { number in start { body(number) } }
    for join in joins { join() }
  }
}
