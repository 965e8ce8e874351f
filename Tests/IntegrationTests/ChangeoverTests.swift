import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `netwatch --follow` while services start and end: netwatch never ends, and never says anything that is
/// wrong.
@Suite struct ChangeoverTests {
  /// Waits until the service has this many subscribers. The client that asks for the number is one of them.
  private static func wait(
    for subscribers: Int, of client: ServiceClient, at place: SourceLocation = #_sourceLocation
  ) throws {
    func ask() throws -> String {
      client.send("{\"stats\":1}")
      return try client.answer()
    }
    try eventually(ask(), at: place) { $0.contains("\"subscribers\":\(subscribers),") }
  }

  private static func summary(_ line: Line) -> String {
    "\(line.event ?? "?") \(line.reason ?? "?") \(line.status ?? "?") \(line.inFlight ?? -1)"
  }

  @Test func `a service comes, is used, and goes`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    let environment = ["NETWATCH_SOCKET=\(folder.file("s"))"]
    let follow = try Follow(namespace.netwatch("--follow", "--json", environment: environment))
    #expect(try follow.summary() == "wifi initial v0")

    let service = try RunningService(in: namespace, folder: folder)
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    client.send("{\"begin\":\"a\"}")
    #expect(try Self.summary(follow.next()) == "activity request_began wifi 1")
    #expect(try Self.summary(follow.next()) == "activity activation_delay wifi 1")
    try namespace.run("ip link set v1 down")
    #expect(try Self.summary(follow.next()) == "reachability no_carrier not-reachable 1")
    try namespace.run("ip link set v1 up")
    #expect(try Self.summary(follow.next()) == "reachability route_up wifi 1")

    try service.kill()
    let lost = try follow.next()
    #expect(Self.summary(lost) == "activity service_lost wifi 0")
    #expect(lost.isVisible == false)
    try namespace.run("ip link set v1 down")
    #expect(try Self.summary(follow.next()) == "reachability no_carrier not-reachable 0")
    try namespace.run("ip link set v1 up")
    #expect(try Self.summary(follow.next()) == "reachability route_up wifi 0")
  }

  @Test func `the end and the start of an idle service write no line`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    #expect(try follow.summary() == "wifi initial v0")
    for _ in 0..<3 {
      let client = try service.client()
      try Self.wait(for: 2, of: client)
      try service.kill()
      try service.restart()
    }
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
    #expect(try follow.isQuiet(in: service.namespace))
  }

  @Test func `it sleeps until a service comes, wherever its folder will be`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    let path = folder.file("a/b/s")
    let environment = ["NETWATCH_SOCKET=\(path)"]
    let follow = try Follow(namespace.netwatch("--follow", "--json", environment: environment))
    #expect(try follow.summary() == "wifi initial v0")
    // netwatch tries a few times to connect, and then waits until the folder changes.
    try follow.process.waitUntilIdle()

    try FileManager.default.createDirectory(atPath: folder.file("a/b"), withIntermediateDirectories: true)
    for _ in 0..<2 {
      let service = try namespace.netwatch("serve", environment: environment)
      let client = try ServiceClient(path)
      try Self.wait(for: 2, of: client)
      client.send("{\"begin\":\"a\"}")
      #expect(try Self.summary(follow.next()) == "activity request_began wifi 1")
      service.signal(SIGKILL)
      #expect(try service.wait() == .signalled(SIGKILL))
      #expect(try Self.summary(follow.next()) == "activity service_lost wifi 0")
      // The folder is removed with the socket, and made again.
      try FileManager.default.removeItem(atPath: folder.file("a"))
      try FileManager.default.createDirectory(atPath: folder.file("a/b"), withIntermediateDirectories: true)
    }
  }

  @Test(arguments: [
    (["-i", "w*"], "not-reachable no_link -"), (["--hold", "0.01"], "wifi initial v0"),
    (["--target", "10.99.0.7"], "not-reachable route_unreachable -"), (["--interfaces"], "wifi initial v0"),
  ])
  func `a path of one's own, and the service's activity`(options: [String], first: String) throws {
    let service = try RunningService()
    try service.namespace.run("ip route add prohibit 10.99.0.7/32")
    let follow = try Follow(
      ChildProcess(
        service.namespace.command([Programs.netwatch, "--follow", "--json"] + options),
        environment: service.environment))
    let line = try follow.next()
    #expect(line.status == String(first.prefix { $0 != " " }), "\(line)")
    #expect(line.interface ?? "-" == String(first.split(separator: " ")[2]))
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    client.send("{\"begin\":\"a\"}")
    let began = try follow.next()
    #expect(Self.summary(began) == "activity request_began \(line.status ?? "") 1")
    #expect(began.interface == line.interface)
    try service.kill()
    var lost = try follow.next()
    if lost.reason == "activation_delay" { lost = try follow.next() }
    #expect(Self.summary(lost) == "activity service_lost \(line.status ?? "") 0")
  }

  @Test func `a service of another network tells of requests alone`() throws {
    let service = try RunningService()
    let follow = try Follow(
      ChildProcess(
        service.namespace.command(["unshare", "--net", Programs.netwatch, "--follow", "--json"]),
        environment: service.environment))
    #expect(try follow.next().status == "not-reachable")
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    client.send("{\"begin\":\"a\"}")
    #expect(try Self.summary(follow.next()) == "activity request_began not-reachable 1")
    client.send("{\"end\":\"a\"}")
    #expect(try Self.summary(follow.next()) == "activity request_ended not-reachable 0")
  }

  @Test func `a service can be declined`() throws {
    let service = try RunningService()
    let follow = try service.follow("--no-service")
    #expect(try follow.summary() == "wifi initial v0")
    let client = try service.client()
    client.send("{\"stats\":1}")
    #expect(try client.answer().contains("\"subscribers\":1,"))
    client.send("{\"begin\":\"a\"}")
    try client.ping()
    try service.kill()
    #expect(try follow.isQuiet(in: service.namespace))
  }

  @Test func `a service that hangs holds up nobody`() throws {
    let service = try RunningService()
    service.process.signal(SIGSTOP)
    defer { service.process.signal(SIGCONT) }
    let follow = try service.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try service.namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    let status = try ChildProcess.run(
      service.namespace.command([Programs.netwatch, "--json"]), environment: service.environment)
    #expect(try status.output.map { try Line($0).status } == ["not-reachable"])
    // The service runs again, and knows nothing that the follower does not know.
    service.process.signal(SIGCONT)
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    #expect(try follow.isQuiet(in: service.namespace))
  }

  @Test func `what another service counts less, the first one's end has ended`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    _ = try follow.next()
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    client.send("{\"begin\":\"a\"}")
    #expect(try Self.summary(follow.next()) == "activity request_began wifi 1")
    // The follower is stopped while the service ends and starts again, so it learns of both at once.
    follow.process.signal(SIGSTOP)
    try service.kill()
    try service.restart()
    follow.process.signal(SIGCONT)
    var line = try follow.next()
    if line.reason == "activation_delay" { line = try follow.next() }
    #expect(Self.summary(line) == "activity service_lost wifi 0")
  }

  @Test func `what was collapsed for a slow reader still has a reason that fits`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    _ = try follow.next()
    let client = try service.client()
    try Self.wait(for: 2, of: client)
    client.send("{\"events\":false}")
    follow.process.signal(SIGSTOP)
    for number in 0..<200 {
      client.send("{\"begin\":\"\(number)\"}")
      try client.ping()
    }
    client.close()
    let watcher = try service.client()
    while try watcher.next().inFlight != 0 {}
    // The newest line is about the path, which is again as it was.
    try service.namespace.run("ip route del default")
    while try watcher.next().event != "reachability" {}
    try service.namespace.run("ip route add default via 10.0.0.2")
    while try watcher.next().event != "reachability" {}
    follow.process.signal(SIGCONT)
    var line = try follow.next()
    while line.inFlight != 0 {
      #expect(line.reason == "request_began" || line.reason == "activation_delay")
      line = try follow.next()
    }
    #expect(Self.summary(line) == "activity request_ended wifi 0")
  }

  @Test func `the service dies again and again under twenty followers, a command and an app`() throws {
    let rounds = ProcessInfo.processInfo.environment["NETWATCH_RESTARTS"].flatMap { Int($0) } ?? 20
    let service = try RunningService()
    let follows = try (0..<20).map { _ in try service.follow() }
    for follow in follows { #expect(try follow.summary() == "wifi initial v0") }
    let command = try service.namespace.netwatch("run", "--", "sleep", "1000", environment: service.environment)
    let app = try ChildProcess([Programs.probe, "reporter"], environment: service.environment)
    app.write("begin\nbegin\n")
    _ = (try app.nextLine(), try app.nextLine())

    // The time at which each service started, on the clock of the lines.
    var births = [0]
    for round in 0...rounds {
      let client = try service.client()
      while try client.next().inFlight != 3 {}
      try Self.wait(for: 21, of: client)
      if round == rounds { break }
      try service.kill()
      if round % 2 == 0 {
        for follow in follows { while try follow.next().reason != "service_lost" {} }
      }
      births.append(Line.monotonicNow)
      try service.restart()
    }
    #expect(command.descriptorCount > 0)
    command.signal(SIGTERM)
    #expect(try command.wait() == .signalled(SIGTERM))
    app.closeInput()
    #expect(try app.wait() == .exited(0))
    for follow in follows {
      // The three requests end in one step or in two. Every line before that says that the machine is reachable.
      repeat { _ = try follow.next() } while try #require(follow.lines.last).reason != "request_ended"
      while try #require(follow.lines.last).inFlight != 0 { _ = try follow.next() }
      #expect(follow.lines.allSatisfy { $0.status == "wifi" })
    }
    try service.namespace.run("ip link set v1 down")
    for follow in follows {
      repeat { _ = try follow.next() } while try #require(follow.lines.last).event == "activity"
      #expect(try Self.summary(#require(follow.lines.last)) == "reachability no_carrier not-reachable 0")
      // Each follower itself writes the line about the lost service. All other lines are those of the services, each of
      // which counts its own.
      let theirs = follow.lines.filter { $0.reason != "service_lost" }
      let sources = Dictionary(grouping: theirs) { line in
        births.lastIndex { $0 <= line.monotonicNanoseconds ?? 0 } ?? 0
      }
      for lines in sources.values {
        let sequences = lines.compactMap(\.sequence)
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 }, "\(lines)")
      }
    }
  }
}
