import Foundation
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

@Suite(.timeLimit(.minutes(3))) struct HostLookupTests {
  private static let both: [Record] = [
    .address(.ip("192.0.2.7"), timeToLive: 300), .address(.ip("2001:db8::7"), timeToLive: 40),
  ]

  /// A server that does not exist.
  private static let nobody = ResolverConfiguration.Server(.ip("127.83.2.9"), port: 9)

  /// Looks up a name, and runs the loop until the lookup has ended.
  private static func lookUp(
    _ name: String = "host.example", on loop: EventLoop, _ configuration: ResolverConfiguration
  ) throws -> Resolution.Outcome {
    var outcome: Resolution.Outcome?
    let lookup = HostLookup(of: try HostName(name), on: loop, configuration) {
      #expect(outcome == nil, "told twice")
      outcome = $0
      loop.stop()
    }
    #expect(outcome == nil, "told from within init")
    try loop.runPatiently()
    withExtendedLifetime(lookup) {}
    return try #require(outcome)
  }

  private static func lookUp(
    _ name: String = "host.example",
    script: @escaping (Question, FakeNameServer.Transport) -> [[UInt8]]
  ) throws -> Resolution.Outcome {
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop, script: script)
    defer { withExtendedLifetime(server) {} }
    return try lookUp(name, on: loop, server.configuration)
  }

  private static func failure(_ outcome: Resolution.Outcome) -> ResolverError.Kind? {
    if case .failure(let error) = outcome { error.kind } else { nil }
  }

  // MARK: Answers

  @Test func `both families are asked for, and the shortest time counts`() throws {
    let outcome = try Self.lookUp { question, _ in [Answer.bytes(question, Self.both)] }
    let resolution = try outcome.get()
    #expect(Set(resolution.addresses) == [.ip("192.0.2.7"), .ip("2001:db8::7")])
    #expect(resolution.timeToLive == .seconds(40))
  }

  @Test func `one family is enough`() throws {
    let outcome = try Self.lookUp { question, _ in
      [Answer.bytes(question, [.address(.ip("192.0.2.7"), timeToLive: 9)])]
    }
    #expect(outcome == .success(Resolution(addresses: [.ip("192.0.2.7")], timeToLive: .seconds(9))))
  }

  @Test func `aliases are followed, and their time counts too`() throws {
    let outcome = try Self.lookUp { question, _ in
      let chain: [Record] = [
        .alias("second.example", timeToLive: 600), .alias("third.example", timeToLive: 7),
        .address(.ip("192.0.2.9"), timeToLive: 60),
      ]
      return [Answer.bytes(question, question.kind == .a ? chain : [])]
    }
    #expect(outcome == .success(Resolution(addresses: [.ip("192.0.2.9")], timeToLive: .seconds(7))))
  }

  @Test func `each address is told once, and 16 at most`() throws {
    var records = (0..<12).map { Record.address(.v4(0xc000_0200 + UInt32($0)), timeToLive: 60) }
    records += records + (0..<12).map { Record.address(.v6(UInt128(0x2001_0db8) << 96 + UInt128($0)), timeToLive: 60) }
    let addresses = try Self.lookUp { question, _ in [Answer.bytes(question, records)] }.get().addresses
    #expect(addresses.count == 16)
    #expect(Set(addresses).count == 16)
  }

  @Test func `a time with its first bit set is none`() throws {
    let outcome = try Self.lookUp { question, _ in
      [Answer.bytes(question, [.address(.ip("192.0.2.7"), timeToLive: 0x8000_0000)])]
    }
    #expect(try outcome.get().timeToLive == .zero)
  }

  @Test func `what does not fit is asked for once more over TCP`() throws {
    var transports: [FakeNameServer.Transport] = []
    let outcome = try Self.lookUp { question, transport in
      transports.append(transport)
      return [Answer.bytes(question, transport == .udp ? [] : Self.both, isCut: transport == .udp)]
    }
    #expect(try outcome.get().addresses.count == 2)
    #expect(transports.count { $0 == .tcp } == 2)
  }

  @Test func `an international name is asked for in ASCII`() throws {
    var names: Set<String> = []
    let outcome = try Self.lookUp("Bücher.example") { question, _ in
      names.insert(question.name)
      return [Answer.bytes(question, Self.both)]
    }
    #expect(try outcome.get().addresses.count == 2)
    #expect(names == ["xn--bcher-kva.example"])
  }

  @Test func `the hosts file comes first, and what it says has no time`() throws {
    let hosts = (try? String(contentsOfFile: "/etc/hosts", encoding: .utf8)) ?? ""
    for line in hosts.split(separator: "\n") {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.map(String.init)
      guard let address = InternetAddress(words.first ?? "") else { continue }
      for word in words.dropFirst() {
        guard let name = try? HostName(word) else { continue }
        let resolution = try Self.lookUp(name.text) { question, _ in
          Issue.record("asked for \(question.name)")
          return []
        }.get()
        #expect(resolution.addresses.contains(address))
        #expect(resolution.timeToLive == nil)
      }
    }
  }

  @Test func `each lookup reads the configuration anew`() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "nw-\(UUID().uuidString.prefix(8)).conf")
    defer { try? FileManager.default.removeItem(at: file) }
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop, records: Self.both)
    var configuration = server.configuration
    configuration.resolvConf = file.path
    for domain in ["one.example", "two.example"] {
      try "search \(domain)\noptions ndots:2\n".write(to: file, atomically: true, encoding: .utf8)
      #expect(try Self.lookUp("printer.office", on: loop, configuration).get().addresses.count == 2)
      #expect(server.questions.last?.name == "printer.office.\(domain)")
    }
    // The dot at the end says that no domain is added to the name.
    _ = try Self.lookUp("printer.office.", on: loop, configuration)
    #expect(server.questions.last?.name == "printer.office")
  }

  // MARK: Failures

  @Test func `a name that is not there`() throws {
    let outcome = try Self.lookUp { question, _ in [Answer.bytes(question, [], .noSuchName)] }
    guard case .failure(let error) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(error.kind == .noSuchName)
    #expect(error.operation == "ares_getaddrinfo")
    #expect(error.description == "there is no host with the name host.example")
  }

  @Test func `a name without an address, also at the end of an alias`() throws {
    #expect(Self.failure(try Self.lookUp { question, _ in [Answer.bytes(question)] }) == .noAddress)
    let alias = try Self.lookUp { question, _ in
      [Answer.bytes(question, [.alias("other.example", timeToLive: 60)])]
    }
    #expect(Self.failure(alias) == .noAddress)
  }

  @Test(arguments: [Answer.Code.failed, .refused])
  func `a server that refuses or fails counts as no server`(_ code: Answer.Code) throws {
    #expect(Self.failure(try Self.lookUp { question, _ in [Answer.bytes(question, [], code)] }) == .noServer)
  }

  @Test func `a failure for one family does not make a name without address`() throws {
    for failing in [Question.Kind.a, .aaaa] {
      let outcome = try Self.lookUp { question, _ in
        [Answer.bytes(question, [], question.kind == failing ? .failed : .fine)]
      }
      #expect(Self.failure(outcome) == .noServer)
    }
  }

  /// The second question may receive the refusal of the first one. The lookup then waits until it times out.
  @Test func `where nobody listens nobody answers`() throws {
    let loop = try EventLoop()
    var configuration = ResolverConfiguration()
    configuration.servers = [Self.nobody]
    let outcome = try Self.lookUp(on: loop, configuration)
    #expect([.noServer, .timedOut].contains(Self.failure(outcome)))
  }

  @Test func `where one of two servers listens, that one answers`() throws {
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop, records: Self.both)
    var configuration = server.configuration
    configuration.servers.insert(Self.nobody, at: 0)
    #expect(try Self.lookUp(on: loop, configuration).get().addresses.count == 2)
  }

  @Test func `a name with forbidden letters is not asked for`() throws {
    let outcome = try Self.lookUp("a\u{2260}b\u{fffd}.example") { question, _ in
      Issue.record("asked for \(question.name)")
      return []
    }
    #expect(Self.failure(outcome) == .noSuchName)
  }

  @Test func `an answer that makes no sense is an error`() throws {
    let outcome = try Self.lookUp { question, _ in
      // The answer claims to have a record, and ends in the middle of the record.
      [Array(Answer.bytes(question, [.address(.ip("192.0.2.7"), timeToLive: 9), Self.both[1]]).dropLast(3))]
    }
    #expect(Self.failure(outcome) == .other)
  }

  // MARK: Silence

  /// A lookup, and a clock for its loop. c-ares uses the kernel's clock. This clock follows the kernel's, but takes
  /// only small steps, so that a lookup has all the time that it needs on a busy machine.
  private final class Bench {
    let clock = ManualClock()
    let loop: EventLoop
    private(set) var outcome: Resolution.Outcome?
    private var lookup: HostLookup?
    private var last = KernelClock.monotonic.now

    init() throws { loop = try EventLoop(by: clock) }

    func lookUp(_ configuration: ResolverConfiguration) throws {
      lookup = HostLookup(of: try HostName("host.example"), on: loop, configuration) { [unowned self] in
        #expect(outcome == nil, "told twice")
        outcome = $0
      }
      last = KernelClock.monotonic.now
    }

    /// Lets time pass until a state fulfils a condition.
    func pass<State>(
      until state: @autoclosure () throws -> State, at place: SourceLocation = #_sourceLocation,
      _ condition: (State) throws -> Bool
    ) throws {
      func step() throws -> State {
        let now = KernelClock.monotonic.now
        clock.advance(by: min(now - last, .milliseconds(20)))
        last = now
        try loop.poll()
        return try state()
      }
      try eventually(step(), at: place, condition)
    }
  }

  @Test func `a silent server is asked again, and given up after the timeout`() throws {
    let bench = try Bench()
    let server = try FakeNameServer(on: bench.loop) { _, _ in [] }
    var configuration = server.configuration
    configuration.timeout = .milliseconds(600)
    try bench.lookUp(configuration)
    // c-ares asks for both families more than once. The server runs on the same loop and receives the questions, so
    // nothing blocks the loop.
    try bench.pass(until: server.questions.count) { $0 >= 4 }
    #expect(bench.outcome == nil)
    bench.clock.advance(by: .milliseconds(600))
    try bench.loop.poll()
    #expect(bench.outcome.flatMap(Self.failure) == .timedOut)
  }

  /// All other tests of silent servers use a clock that the test moves.
  @Test func `on the kernel's clock, a lookup of a silent server ends by itself`() throws {
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop) { _, _ in [] }
    var configuration = server.configuration
    configuration.timeout = .milliseconds(80)
    let beginning = loop.now
    #expect(Self.failure(try Self.lookUp(on: loop, configuration)) == .timedOut)
    #expect(loop.now - beginning >= .milliseconds(70))
  }

  @Test func `however many servers are silent, the time is the same`() throws {
    let bench = try Bench()
    let servers = try (0..<3).map { _ in try FakeNameServer(on: bench.loop) { _, _ in [] } }
    var configuration = servers[0].configuration
    configuration.servers = servers.flatMap(\.configuration.servers)
    // c-ares 1.34 gives each server at least 250 ms.
    configuration.timeout = .milliseconds(1_500)
    try bench.lookUp(configuration)
    try bench.pass(until: servers.map(\.questions.count)) { !$0.contains(0) }
    #expect(bench.outcome == nil)
    bench.clock.advance(by: .milliseconds(1_500))
    try bench.loop.poll()
    guard case .failure(let error) = bench.outcome else {
      Issue.record("\(bench.outcome as Any)")
      return
    }
    #expect(error.kind == .timedOut)
    // The error is ARES_ECANCELLED, because c-ares itself would have continued.
    #expect(error.code == 24)
  }

  @Test(
    .enabled(if: aresIsBefore(minor: 20), "Later versions drop an answer to a question that they have asked again."))
  func `an answer to the first try counts during the second`() throws {
    let bench = try Bench()
    var first: [Question.Kind: Question] = [:]
    let server = try FakeNameServer(on: bench.loop) { question, _ in
      guard let earlier = first[question.kind] else {
        first[question.kind] = question
        return []
      }
      return [Answer.bytes(earlier, Self.both)]
    }
    var configuration = server.configuration
    configuration.timeout = .milliseconds(400)
    try bench.lookUp(configuration)
    try bench.pass(until: bench.outcome) { $0 != nil }
    #expect(try bench.outcome?.get().addresses.count == 2)
  }

  /// Two servers together have more attempts than there is time for, so the lookup ends by its timeout.
  @Test(arguments: [Question.Kind.a, .aaaa], 1...2)
  func `what is known of one family counts where the other one is silent`(_ silent: Question.Kind, count: Int) throws {
    let bench = try Bench()
    let servers = try (0..<count).map { _ in
      try FakeNameServer(on: bench.loop) { question, _ in
        question.kind == silent ? [] : [Answer.bytes(question, Self.both)]
      }
    }
    var configuration = servers[0].configuration
    configuration.servers = servers.flatMap(\.configuration.servers)
    configuration.timeout = .milliseconds(400)
    try bench.lookUp(configuration)
    try bench.pass(until: bench.outcome) { $0 != nil }
    #expect(try bench.outcome?.get().addresses.count == 1)
    withExtendedLifetime(servers) {}
  }

  @Test func `answers to something else are passed over`() throws {
    let outcome = try Self.lookUp { question, _ in
      var other = Answer.bytes(question, [.address(.ip("203.0.113.1"), timeToLive: 9)])
      other[0] ^= 0xff
      let otherName = Answer.bytes(question, [.address(.ip("203.0.113.1"), timeToLive: 9)]).map {
        $0 == UInt8(ascii: "h") ? UInt8(ascii: "x") : $0
      }
      return [other, otherName, Answer.bytes(question, Self.both)]
    }
    #expect(Set(try outcome.get().addresses) == [.ip("192.0.2.7"), .ip("2001:db8::7")])
  }

  // MARK: Cancelling and releasing

  @Test func `nothing is heard of a lookup that was cancelled or let go of`() throws {
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop, records: Self.both)
    let name = try HostName("host.example")
    let cancelled = HostLookup(of: name, on: loop, server.configuration) { _ in Issue.record("told") }
    cancelled.cancel()
    cancelled.cancel()
    _ = HostLookup(of: name, on: loop, server.configuration) { _ in Issue.record("told") }
    // The third lookup is released while it runs, when its first question has arrived.
    var third: HostLookup?
    server.script = { question, _ in
      guard third != nil else { return [Answer.bytes(question, Self.both)] }
      third = nil
      loop.stop()
      return [Answer.bytes(question, Self.both)]
    }
    third = HostLookup(of: name, on: loop, server.configuration) { _ in Issue.record("told") }
    try loop.runPatiently()
    // When a fourth lookup has ended, the other three would also have been told.
    #expect(try Self.lookUp(on: loop, server.configuration).get().addresses.count == 2)
  }

  @Test func `the body may let go of everything`() throws {
    let loop = try EventLoop()
    let outcomes: [[Record]] = [Self.both, []]
    for records in outcomes {
      let server = try FakeNameServer(on: loop, records: records)
      var lookup: HostLookup?
      weak var gone: HostLookup?
      lookup = HostLookup(of: try HostName("host.example"), on: loop, server.configuration) { _ in
        lookup?.cancel()
        lookup = nil
        loop.stop()
      }
      gone = lookup
      try loop.runPatiently()
      #expect(gone == nil)
    }
  }

  @Test func `no socket is left behind`() throws {
    let loop = try EventLoop()
    let server = try FakeNameServer(on: loop, records: Self.both)
    var wereOpen = 0
    server.script = { [unowned server] question, _ in
      wereOpen += server.openClients.count
      return [Answer.bytes(question, Self.both)]
    }
    for _ in 0..<20 {
      wereOpen = 0
      _ = try Self.lookUp(on: loop, server.configuration)
      #expect(wereOpen > 0, "the table of sockets shows who asks")
      #expect(server.openClients.isEmpty)
    }
  }
}

extension FakeNameServer {
  /// The UDP ports of this process that have asked this server and are still connected to it. A child that another test
  /// starts has a copy of all sockets until it executes its program. Such a copy does not count.
  fileprivate var openClients: Set<UInt16> {
    let table = (try? String(contentsOfFile: "/proc/net/udp", encoding: .utf8)) ?? ""
    let own = Self.ownSockets
    let peers = table.split(separator: "\n").compactMap { line -> UInt16? in
      let columns = line.split(separator: " ")
      guard columns.count > 9, Self.port(columns[2]) == port, own.contains("socket:[\(columns[9])]") else { return nil }
      return Self.port(columns[1])
    }
    return clients.intersection(peers)
  }

  /// The sockets of this process, in the form `socket:[inode]` that /proc uses.
  private static var ownSockets: Set<String> {
    let folder = "/proc/self/fd/"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return Set(descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0) })
  }

  /// Returns the port of an address in the table /proc/net/udp, where it is hexadecimal and follows a colon.
  private static func port(_ address: Substring) -> UInt16? {
    UInt16(address.suffix(4), radix: 16)
  }
}
