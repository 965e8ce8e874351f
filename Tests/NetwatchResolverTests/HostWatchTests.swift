import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

@Suite(.timeLimit(.minutes(3))) struct HostWatchTests {
  private static func address(_ last: UInt32) -> IPAddress { .v4(0xc000_0200 + last) }
  private static func record(_ last: UInt32) -> Record { .address(address(last), timeToLive: 300) }

  /// A follower of one name, and what it has told.
  private final class Run {
    let loop: EventLoop
    let server: FakeNameServer
    var follower: HostWatch?
    private(set) var told: [[IPAddress]?] = []

    init(refresh: Duration = .milliseconds(30), timeout: Duration = .milliseconds(200), resolvConf: String? = nil)
      throws
    {
      loop = try EventLoop()
      server = try FakeNameServer(on: loop, records: [record(1)])
      var configuration = server.configuration
      configuration.refresh = refresh
      configuration.timeout = timeout
      if let resolvConf { configuration.resolvConf = resolvConf }
      follower = HostWatch(of: try HostName("host.example"), on: loop, configuration) { [unowned self] in
        told.append($0)
        loop.stop()
      }
      #expect(told.isEmpty)
    }

    /// The next addresses.
    func next(_ location: SourceLocation = #_sourceLocation) throws -> [IPAddress]? {
      let count = told.count
      try loop.runPatiently(location)
      #expect(told.count == count + 1, sourceLocation: location)
      return told.last ?? nil
    }

    /// Runs until `count` more questions were asked.
    func ask(_ count: Int, _ location: SourceLocation = #_sourceLocation) throws {
      let script = server.script
      var rest = count
      server.script = { [unowned loop] in
        rest -= 1
        if rest == 0 { loop.stop() }
        return script($0, $1)
      }
      try loop.runPatiently(location)
      server.script = script
    }
  }

  @Test func `addresses are told as they change`() throws {
    let run = try Run()
    #expect(try run.next() == [Self.address(1)])
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(2), Self.record(3)]))] }
    #expect(Set(try run.next() ?? []) == [Self.address(2), Self.address(3)])
    // In turns: no news.
    var turn = false
    run.server.script = { question, _ in
      turn.toggle()
      return [
        .init(Answer.bytes(question, turn ? [Self.record(3), Self.record(2)] : [Self.record(2), Self.record(3)]))
      ]
    }
    try run.ask(20)
    #expect(run.told.count == 2)
    run.server.script = { question, _ in [.init(Answer.bytes(question, [], .noSuchName))] }
    #expect(try run.next() == [])
    #expect(run.follower?.failure?.kind == .noSuchName)
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(4)]))] }
    #expect(try run.next() == [Self.address(4)])
    #expect(run.follower?.failure == nil)
    #expect(run.follower?.addresses == [Self.address(4)])
  }

  @Test func `while the servers are silent or fail, what was known stays`() throws {
    let run = try Run()
    #expect(try run.next() == [Self.address(1)])
    run.server.script = { _, _ in [] }
    try run.ask(12)
    run.server.script = { question, _ in [.init(Answer.bytes(question, [], .failed))] }
    try run.ask(12)
    #expect(run.told.count == 1)
    #expect(run.follower?.addresses == [Self.address(1)])
    #expect(run.follower?.failure != nil)
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(2)]))] }
    #expect(try run.next() == [Self.address(2)])
  }

  @Test func `that nothing is known is told once`() throws {
    let run = try Run()
    run.server.script = { _, _ in [] }
    #expect(try run.next() == nil)
    #expect(run.follower?.failure?.kind == .timedOut)
    try run.ask(8)
    #expect(run.told.count == 1)
    #expect(run.follower?.isKnown == false)
    run.server.script = { question, _ in [.init(Answer.bytes(question, [], .noSuchName))] }
    #expect(try run.next() == [])
    #expect(run.follower?.isKnown == true)
  }

  @Test func `a change of the path, and of the configuration, is looked up long before the refresh`() throws {
    let folder = try TemporaryFolder()
    try folder.write("search one.example\n", to: "resolv.conf")
    let run = try Run(refresh: .seconds(3_600), resolvConf: folder.file("resolv.conf"))
    #expect(try run.next() == [Self.address(1)])
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(2)]))] }
    run.follower?.pathChanged()
    #expect(try run.next() == [Self.address(2)])
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(3)]))] }
    try folder.write("search two.example\n", to: "new")
    try folder.rename("new", to: "resolv.conf")
    #expect(try run.next() == [Self.address(3)])
  }

  @Test func `a change does not wait for a server that is silent`() throws {
    let run = try Run(refresh: .seconds(3_600), timeout: .seconds(3_600))
    run.server.script = { [unowned run] _, _ in
      run.loop.stop()
      return []
    }
    try run.loop.runPatiently()
    run.server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(2)]))] }
    run.follower?.pathChanged()
    #expect(try run.next() == [Self.address(2)])
  }

  @Test func `nothing is heard of one that was stopped or let go of, from its own callback too`() throws {
    for isStopped in [true, false] {
      let loop = try EventLoop()
      // After a failure, a change would be looked up at once.
      let server = try FakeNameServer(on: loop) { question, _ in [.init(Answer.bytes(question, [], .noSuchName))] }
      var configuration = server.configuration
      configuration.refresh = .milliseconds(10)
      var calls = 0
      var follower: HostWatch?
      follower = HostWatch(of: try HostName("host.example"), on: loop, configuration) { _ in
        calls += 1
        if isStopped { follower?.stop() } else { follower = nil }
        server.script = { question, _ in [.init(Answer.bytes(question, [Self.record(UInt32(calls + 1))]))] }
        follower?.pathChanged()
        loop.stop()
      }
      try loop.runPatiently()
      #expect((follower == nil) == !isStopped)
      // Another one has its turn ten times.
      let asked = server.questions.count
      var other: HostWatch? = HostWatch(of: try HostName("other.example"), on: loop, configuration) { _ in }
      server.script = { question, _ in
        if server.questions.count >= asked + 20 { loop.stop() }
        return [.init(Answer.bytes(question, [Self.record(9)]))]
      }
      try loop.runPatiently()
      withExtendedLifetime(other) {}
      other = nil
      #expect(calls == 1)
      #expect(server.questions.dropFirst(asked).allSatisfy { $0.name == "other.example" })
      follower = nil
    }
  }
}
