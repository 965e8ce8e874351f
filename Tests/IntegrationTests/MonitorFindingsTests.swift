import Foundation
import NetwatchTestSupport
import Testing

/// What a monitor of the library finds out beyond the path if its configuration asks for it.
@Suite struct MonitorFindingsTests {
  private static func start(_ networks: TwoNetworks, _ words: String...) throws -> ChildProcess {
    try ChildProcess(networks.near.command([Programs.httpProbe, "findings"] + words))
  }

  /// Returns the next line about a path that fulfils a condition. Lines with sentences are skipped.
  @discardableResult
  private static func path(
    of probe: ChildProcess, where isWanted: (String) -> Bool = { _ in true }
  ) throws -> String {
    while let line = try probe.nextLine() {
      if !line.hasPrefix("#"), isWanted(line) { return line }
    }
    throw TestFailure("the probe has ended: \(try probe.errorText())")
  }

  /// Waits until all of these lines have come, in any order and with others between them: an answer may come before the app
  /// subscribes, and the end of a wait is told by another thread than a path.
  private static func await(_ lines: Set<String>, of probe: ChildProcess) throws {
    var awaited = lines
    while !awaited.isEmpty { awaited.remove(try path(of: probe)) }
  }

  private static func sentence(of probe: ChildProcess) throws -> String {
    while let line = try probe.nextLine() {
      if line.hasPrefix("# ") { return String(line.dropFirst(2)) }
    }
    throw TestFailure("the probe has ended: \(try probe.errorText())")
  }

  @Test func `a monitor without further wishes knows what was lost, and nothing else`() throws {
    let networks = try TwoNetworks()
    let probe = try Self.start(networks)
    #expect(try Self.path(of: probe) == "wifi initial ")
    #expect(try Self.sentence(of: probe) == "Online over v0, a virtual interface.")
    try networks.far.configure("link set v1 down")
    #expect(try Self.path(of: probe) == "not-reachable no_carrier lost=v0")
    #expect(try Self.sentence(of: probe).hasPrefix("Offline: v0 has no carrier"))
  }

  @Test func `the internet is probed over each new path`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let probe = try Self.start(networks, "probe=\(AnswerServer.url)", "internet")
    try Self.await(["wifi internet_changed internet=full", "holds"], of: probe)
    let head = try server.nextRequest().split(separator: "|").map(String.init)
    #expect(head.contains { $0.hasPrefix("User-Agent: netwatch") })

    try networks.far.configure("link set v1 down")
    #expect(try Self.path(of: probe) == "not-reachable no_carrier internet=none lost=v0")
    try server.answer("to http://login.example/")
    try networks.far.configure("link set v1 up", "addr replace fd00::2/64 dev v1 nodad")
    try Self.path(of: probe) { $0.hasPrefix("wifi") && $0.contains("internet=unknown") }
    let portal = try Self.path(of: probe) { $0.contains("internet=portal") }
    #expect(portal == "wifi internet_changed internet=portal portal=http://login.example/")
    #expect(try Self.sentence(of: probe).contains("login page (captive portal)"))
  }

  @Test func `a server that does not answer is no internet, and is asked again`() throws {
    let networks = try TwoNetworks()
    let probe = try Self.start(networks, "probe=\(AnswerServer.url)", "interval=0.5", "internet")
    try Self.await(["wifi internet_changed internet=none"], of: probe)
    #expect(try Self.sentence(of: probe).contains("the internet does not answer"))
    let server = try AnswerServer(in: networks.far)
    try Self.await(["wifi internet_changed internet=full", "holds"], of: probe)
    withExtendedLifetime(server) {}
  }

  @Test func `an answer for a path that is gone does not count`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let probe = try Self.start(networks, "probe=\(AnswerServer.url)")
    #expect(try Self.path(of: probe) == "wifi initial internet=unknown")
    try server.nextRequest()
    try networks.near.configure("route del default")
    #expect(try Self.path(of: probe) == "not-reachable no_route internet=none lost=v0")
    // The request is given up.
    try server.clientLeaves()
    try server.answer("204")
    try networks.near.configure("route add default via 10.0.0.2")
    #expect(try Self.path(of: probe) == "wifi route_up internet=unknown")
    #expect(try Self.path(of: probe) == "wifi internet_changed internet=full")
  }

  @Test func `the stages tell where it fails`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let probe = try Self.start(networks, "stages", "probe=\(AnswerServer.url)")
    #expect(try Self.path(of: probe) { $0.contains("internet=full") }.contains("failing=-"))
    try networks.far.configure("link set v1 down")
    #expect(try Self.path(of: probe) { $0.hasPrefix("not-reachable") }.contains("failing=link"))
    withExtendedLifetime(server) {}
  }

  @Test func `the quality is that of this machine's connections`() throws {
    let networks = try TwoNetworks()
    let sink = try networks.sink()
    let senders = try networks.senders(5)
    let probe = try Self.start(networks, "quality")
    try Self.path(of: probe) { $0.contains("quality=known") }
    withExtendedLifetime((sink, senders)) {}
  }

  @Test func `the network has the ID that the command prints`() throws {
    let networks = try TwoNetworks()
    try networks.near.configure("neigh replace 10.0.0.2 lladdr \(try networks.hardwareAddress()) dev v0 nud permanent")
    let command = try ChildProcess.run(networks.near.command([Programs.netwatch, "status", "--network-id"]))
    let id = try #require(command.output.first)
    let probe = try Self.start(networks, "network", "id=\(id)")
    try Self.await(["wifi initial network=\(id)", "holds"], of: probe)
  }

  @Test func `an ID that the kernel learns later is told then`() throws {
    let networks = try TwoNetworks()
    let probe = try Self.start(networks, "network")
    #expect(try Self.path(of: probe) == "wifi initial ")
    try networks.near.configure("neigh replace 10.0.0.2 lladdr \(try networks.hardwareAddress()) dev v0 nud permanent")
    try Self.path(of: probe) { $0.hasPrefix("wifi ") && $0.contains(" network=") }
  }
}

extension TwoNetworks {
  /// The hardware address of the gateway.
  fileprivate func hardwareAddress() throws -> String {
    let show = try ChildProcess.run(far.command(["ip", "-o", "link", "show", "v1"]))
    let words = try #require(show.output.first).split(separator: " ").map(String.init)
    return words[try #require(words.firstIndex(of: "link/ether")) + 1]
  }
}
