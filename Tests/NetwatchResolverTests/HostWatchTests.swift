import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

@Suite(.timeLimit(.minutes(3))) struct HostWatchTests {
  private static func address(_ last: UInt32) -> InternetAddress { .v4(0xc000_0200 + last) }
  private static func record(_ last: UInt32) -> Record { .address(address(last), timeToLive: 300) }

  /// A watch of one name on a clock that the test moves, and the addresses that the watch has told.
  private final class Run {
    /// The longest time from one lookup to the next.
    private static let refresh = Duration.seconds(30)
    /// The time that a lookup may take. c-ares uses the kernel's clock. It asks again after an eighth of this time, or
    /// after 5 s since version 1.32, so never in a test.
    private static let timeout = Duration.seconds(4_000)

    let clock = ManualClock()
    let loop: EventLoop
    let server: FakeNameServer
    var follower: HostWatch?
    private(set) var told: [[InternetAddress]?] = []

    init(resolvConf: String? = nil) throws {
      loop = try EventLoop(by: clock)
      server = try FakeNameServer(on: loop, records: [record(1)])
      var configuration = server.configuration
      configuration.refresh = Self.refresh
      configuration.timeout = Self.timeout
      if let resolvConf { configuration.resolvConf = resolvConf }
      follower = HostWatch(of: try HostName("host.example"), on: loop, configuration) { [unowned self] in
        told.append($0)
      }
      #expect(told.isEmpty)
    }

    /// Waits until the lookup that runs has told its addresses, and returns them.
    func next(at place: SourceLocation = #_sourceLocation) throws -> [InternetAddress]? {
      let count = told.count
      try loop.poll(until: told.count, at: place) { $0 > count }
      #expect(told.count == count + 1, sourceLocation: place)
      return told.last ?? nil
    }

    /// Waits until the lookup that runs has ended, and the time of the next one is set.
    ///
    /// - Returns: The time until the next lookup.
    @discardableResult func rest(at place: SourceLocation = #_sourceLocation) throws -> Duration {
      let deadline = try loop.poll(until: follower?.lookup == nil ? loop.nextDeadline : nil, at: place) { deadline in
        deadline.map { $0 > loop.now } ?? false
      }
      return try #require(deadline, sourceLocation: place) - loop.now
    }

    /// Lets time pass until the next lookup begins.
    func lookAgain(at place: SourceLocation = #_sourceLocation) throws { clock.advance(by: try rest(at: place)) }

    /// Waits until the lookup that runs has asked its questions, and then lets its time limit pass.
    func waitInVain(at place: SourceLocation = #_sourceLocation) throws {
      let asked = server.questions.count
      try loop.poll(until: server.questions.count, at: place) { $0 == asked + 2 }
      clock.advance(by: Self.timeout)
    }
  }

  @Test func `addresses are told as they change`() throws {
    let run = try Run()
    #expect(try run.next() == [Self.address(1)])
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(2), Self.record(3)])] }
    try run.lookAgain()
    #expect(Set(try run.next() ?? []) == [Self.address(2), Self.address(3)])
    // The same addresses in another order are no news.
    var turn = false
    run.server.script = { question, _ in
      turn.toggle()
      return [
        Answer.bytes(question, turn ? [Self.record(3), Self.record(2)] : [Self.record(2), Self.record(3)])
      ]
    }
    let asked = run.server.questions.count
    for _ in 0..<10 {
      try run.lookAgain()
      try run.rest()
    }
    #expect(run.server.questions.count == asked + 20)
    #expect(run.told.count == 2)
    run.server.script = { question, _ in [Answer.bytes(question, [], .noSuchName)] }
    try run.lookAgain()
    #expect(try run.next() == [])
    #expect(run.follower?.failure?.kind == .noSuchName)
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(4)])] }
    try run.lookAgain()
    #expect(try run.next() == [Self.address(4)])
    #expect(run.follower?.failure == nil)
    #expect(run.follower?.addresses == [Self.address(4)])
  }

  @Test func `while the servers are silent or fail, what was known stays`() throws {
    let run = try Run()
    #expect(try run.next() == [Self.address(1)])
    run.server.script = { _, _ in [] }
    // The pauses after failures grow up to the longest one.
    for pause in [30, 1, 2, 4, 8] {
      #expect(try run.rest() == .seconds(pause))
      try run.lookAgain()
      try run.waitInVain()
    }
    run.server.script = { question, _ in [Answer.bytes(question, [], .failed)] }
    for pause in [16, 30, 30] {
      #expect(try run.rest() == .seconds(pause))
      try run.lookAgain()
    }
    try run.rest()
    #expect(run.told.count == 1)
    #expect(run.follower?.addresses == [Self.address(1)])
    #expect(run.follower?.failure != nil)
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(2)])] }
    try run.lookAgain()
    #expect(try run.next() == [Self.address(2)])
  }

  @Test func `that nothing is known is told once`() throws {
    let run = try Run()
    run.server.script = { _, _ in [] }
    try run.waitInVain()
    #expect(try run.next() == nil)
    #expect(run.follower?.failure?.kind == .timedOut)
    for _ in 0..<4 {
      try run.lookAgain()
      try run.waitInVain()
    }
    try run.rest()
    #expect(run.told.count == 1)
    #expect(run.follower?.isKnown == false)
    run.server.script = { question, _ in [Answer.bytes(question, [], .noSuchName)] }
    try run.lookAgain()
    #expect(try run.next() == [])
    #expect(run.follower?.isKnown == true)
  }

  @Test func `a change of the path, and of the configuration, is looked up long before the refresh`() throws {
    let folder = try TemporaryFolder()
    try folder.write("search one.example\n", to: "resolv.conf")
    let run = try Run(resolvConf: folder.file("resolv.conf"))
    #expect(try run.next() == [Self.address(1)])
    #expect(try run.rest() == .seconds(30))
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(2)])] }
    run.follower?.pathChanged()
    // A lookup begins at least one second after the one before.
    #expect(try run.rest() == .seconds(1))
    try run.lookAgain()
    #expect(try run.next() == [Self.address(2)])
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(3)])] }
    try folder.write("search two.example\n", to: "new")
    try folder.rename("new", to: "resolv.conf")
    try run.loop.poll(until: run.loop.nextDeadline) { $0 == run.loop.now + .seconds(1) }
    try run.lookAgain()
    #expect(try run.next() == [Self.address(3)])
  }

  @Test func `a change does not wait for a server that is silent`() throws {
    let run = try Run()
    run.server.script = { _, _ in [] }
    try run.loop.poll(until: run.server.questions.count) { $0 > 0 }
    run.server.script = { question, _ in [Answer.bytes(question, [Self.record(2)])] }
    run.follower?.pathChanged()
    run.clock.advance(by: HostMachine.spacing)
    #expect(try run.next() == [Self.address(2)])
  }

  @Test func `nothing is heard of one that was stopped or let go of, from its own callback too`() throws {
    for isStopped in [true, false] {
      let clock = ManualClock()
      let loop = try EventLoop(by: clock)
      // After a failure, a change would make the watch look the name up at once.
      let server = try FakeNameServer(on: loop) { question, _ in [Answer.bytes(question, [], .noSuchName)] }
      var configuration = server.configuration
      configuration.refresh = .seconds(30)
      configuration.timeout = .seconds(4_000)
      var calls = 0
      var follower: HostWatch?
      follower = HostWatch(of: try HostName("host.example"), on: loop, configuration) { _ in
        calls += 1
        if isStopped { follower?.stop() } else { follower = nil }
        server.script = { question, _ in [Answer.bytes(question, [Self.record(UInt32(calls + 1))])] }
        follower?.pathChanged()
      }
      try loop.poll(until: calls) { $0 == 1 }
      #expect((follower == nil) == !isStopped)
      // Another watch looks its name up ten times. The first one would have had its turn by then.
      let asked = server.questions.count
      var other: HostWatch? = HostWatch(of: try HostName("other.example"), on: loop, configuration) { _ in }
      server.script = { question, _ in [Answer.bytes(question, [Self.record(9)])] }
      for turn in 1...10 {
        try loop.poll(until: (server.questions.count, loop.nextDeadline)) {
          $0 == asked + 2 * turn && $1 == loop.now + configuration.refresh
        }
        clock.advance(by: configuration.refresh)
      }
      withExtendedLifetime(other) {}
      other = nil
      #expect(calls == 1)
      #expect(server.questions.dropFirst(asked).allSatisfy { $0.name == "other.example" })
      follower = nil
    }
  }
}
