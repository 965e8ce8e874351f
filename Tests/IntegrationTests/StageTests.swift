import Foundation
import Glibc
import NetwatchTestSupport
import Testing

extension Line {
  private var stages: [String: Any] { object["stages"] as? [String: Any] ?? [:] }
  /// The first stage that fails; nil if none does.
  var failing: String? { stages["failing"] as? String }
  func evidence(_ stage: String) -> String? { (stages[stage] as? [String: Any])?["evidence"] as? String }
  func address(_ stage: String) -> String? { (stages[stage] as? [String: Any])?["address"] as? String }
  var portalURL: String? { (object["reachability"] as? [String: Any])?["portal_url"] as? String }
}

extension Follow {
  /// Returns the next line in which this stage is the first that fails; if `stage` is nil, the next line in which none
  /// fails.
  @discardableResult
  fileprivate func next(failing stage: String?, where holds: (Line) -> Bool = { _ in true }) throws -> Line {
    let deadline = Deadline(60)
    do {
      while true {
        let line = try next()
        if line.failing == stage, holds(line) { return line }
        if deadline.isOver { throw TestFailure("nothing of the kind in \(60 * patience) s") }
      }
    } catch {
      throw TestFailure("\(stage ?? "nothing") does not fail: \(error), after \(lines.suffix(3))")
    }
  }
}

extension NetworkNamespace {
  fileprivate func sentPackets(_ link: String) throws -> String {
    let output = try ChildProcess.run(command(["ip", "-s", "-o", "link", "show", link])).output.joined()
    let numbers = output.components(separatedBy: "TX:").last?.split(separator: " ") ?? []
    return numbers.first { $0.allSatisfy(\.isNumber) }.map(String.init) ?? "?"
  }
}

/// `--stages`: at which stage the way to the internet fails.
@Suite struct StageTests {
  private static let rounds =
    ProcessInfo.processInfo.environment["NETWATCH_STAGE_ROUNDS"].flatMap { Int($0) } ?? 3

  @Test func `each of six faults is reported as the right stage`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    let names = try NameServer(in: networks.far, at: "10.0.0.2", tellsQuestions: false, "probe.example,10.0.0.2")
    let server = try AnswerServer(in: networks.far)
    let follow = try names.follow(
      "--stages", "--probe", "http://probe.example/probe", "--probe-interval", "0.1", "--probe-timeout", "2",
      in: networks.near)
    func waitUntilAllIsWell() throws {
      try follow.next(failing: nil) { $0.evidence("internet") == "full" }
    }
    try waitUntilAllIsWell()
    for _ in 0..<Self.rounds {
      try networks.far.run("ip link set v1 down")
      #expect(try follow.next(failing: "link").evidence("link") == "no_carrier")
      try networks.far.run("ip link set v1 up")
      try waitUntilAllIsWell()

      try networks.near.run("ip addr del 10.0.0.1/24 dev v0", "ip -6 addr flush dev v0 scope global")
      #expect(try follow.next(failing: "address").evidence("link") == "running")
      try networks.near.run("ip addr add 10.0.0.1/24 dev v0", "ip route replace default via 10.0.0.2")
      try waitUntilAllIsWell()

      try networks.far.run("ip addr del 10.0.0.2/24 dev v1")
      let router = try follow.next(failing: "gateway")
      #expect((router.evidence("gateway"), router.address("gateway")) == ("neighbour_failed", "10.0.0.2"))
      #expect((router.evidence("link"), router.evidence("address")) == ("running", "configured"))
      try networks.far.run("ip addr add 10.0.0.2/24 dev v1")
      try waitUntilAllIsWell()

      names.pause()
      let mute = try follow.next(failing: "dns")
      #expect((mute.evidence("dns"), mute.address("dns")) == ("no_answer", "10.0.0.2"))
      names.goOn()
      try waitUntilAllIsWell()

      try server.answer("to /login?x=1")
      let portal = try follow.next(failing: "internet") { $0.evidence("internet") == "portal" }
      #expect(portal.portalURL == "http://probe.example/login?x=1")
      try server.answer("204")
      try waitUntilAllIsWell()

      try server.answer("close")
      let upstream = try follow.next(failing: "internet")
      #expect((upstream.evidence("internet"), upstream.portalURL) == ("none", nil))
      try server.answer("204")
      try waitUntilAllIsWell()
    }
  }

  @Test(arguments: ["10.0.0.2", "fe80::2"])
  func `a router that dies behind a living switch is told, and that it is back`(router: String) throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    let isIPv6 = router.contains(":")
    if isIPv6 {
      try networks.far.run("ip addr add fe80::2/64 dev v1 nodad")
      try networks.near.run("ip route del default", "ip -6 route add default via fe80::2 dev v0")
    }
    let target = isIPv6 ? "2001:db8::1" : "192.0.2.1"
    let length = isIPv6 ? 64 : 24
    let names = try NameServer(in: networks.far, at: "fd00::2")
    let follow = try names.follow("--stages", in: networks.near)
    #expect(try follow.next().evidence("gateway") == "neighbour_unresolved")
    try networks.near.send(to: target)
    try networks.far.run("ip addr del \(router)/\(length) dev v1")
    // The kernel asks for a neighbour only when something is sent.
    let sender = try networks.near.keepSending(to: target)
    defer { sender.signal(SIGKILL) }
    let dead = try follow.next()
    #expect((dead.event, dead.reason, dead.failing) == ("stages", "stage_changed", "gateway"))
    #expect((dead.sequence, dead.address("gateway")) == (1, router))
    try networks.far.run("ip addr add \(router)/\(length) dev v1" + (isIPv6 ? " nodad" : ""))
    let back = try follow.next()
    #expect((back.event, back.failing, back.evidence("gateway")) == ("stages", nil, "neighbour_reachable"))
  }

  @Test func `an entry that somebody deletes is no alarm, and an idle one wakes nobody and sends nothing`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    // Without IPv6, the kernel sends no packets of its own.
    try networks.near.run("echo 1 > /proc/sys/net/ipv6/conf/v0/disable_ipv6")
    let names = try NameServer(in: networks.far, at: "10.0.0.2")
    let follow = try names.follow("--stages", in: networks.near)
    _ = try follow.next()
    for _ in 0..<20 {
      try networks.near.send(to: "192.0.2.1")
      try networks.near.run(
        "until ip neigh show 10.0.0.2 | grep -q REACHABLE; do sleep 0.02; done", "ip neigh flush dev v0")
    }
    try networks.near.send(to: "192.0.2.1")
    try networks.near.run("until ip neigh show 10.0.0.2 | grep -q STALE; do sleep 0.02; done")
    let before = try networks.near.sentPackets("v0")
    try follow.process.waitUntilIdle()
    #expect(try networks.near.sentPackets("v0") == before)
    #expect(try follow.isQuiet(in: networks.near))
    #expect(follow.lines.allSatisfy { $0.failing == nil && $0.event != "stages" })
  }

  @Test func `a nudge finds out without anybody's traffic`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    let names = try NameServer(in: networks.far, at: "fd00::2")
    let follow = try names.follow("--stages", "--nudge", "--interfaces", in: networks.near)
    #expect(try follow.next().evidence("gateway") == "neighbour_unresolved")
    try networks.far.run("ip addr del 10.0.0.2/24 dev v1")
    try follow.next(failing: "gateway")
    try networks.far.run("ip addr add 10.0.0.2/24 dev v1")
    try follow.next(failing: nil)
    // The kernel never checks a permanent entry. A router with such an entry shows that it is alive by refusing the
    // nudge.
    try networks.near.run(
      "ip neigh replace 10.0.0.2 dev v0 nud permanent lladdr $(ip neigh show 10.0.0.2 | grep -o 'lladdr [^ ]*' | cut -d' ' -f2)"
    )
    func evidenceAfterChange() throws -> String? {
      try networks.near.run("ip addr add 10.77.0.1/32 dev lo", "ip addr del 10.77.0.1/32 dev lo")
      while follow.process.hasLine { _ = try follow.next() }
      return follow.lines.last?.evidence("gateway")
    }
    try eventually(evidenceAfterChange()) { $0 == "answered" }
  }

  @Test func `name servers that come after the path are found`() throws {
    let networks = try TwoNetworks()
    let names = try NameServer(in: networks.far, at: "fd00::2")
    // No route leads to the network of this name server.
    try names.write("nameserver 2001:db8:5::53\n", to: "resolv.conf")
    let follow = try names.follow("--stages", in: networks.near)
    let first = try follow.next()
    #expect((first.failing, first.evidence("dns"), first.address("dns")) == ("dns", "no_route", "2001:db8:5::53"))
    try names.writeConfiguration()
    let line = try follow.next()
    #expect(
      (line.event, line.failing, line.evidence("dns"), line.address("dns")) == ("stages", nil, "routed", "fd00::2"))
  }

  @Test func `beneath a tunnel it is the router of the link that carries it`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    let tunnel = try networks.near.addTunnel("tun0")
    try networks.near.run(
      "ip route replace default dev tun0", "ip route add default via 10.0.0.2 dev v0 metric 600")
    let follow = try networks.near.follow("--stages")
    let first = try follow.next()
    #expect((first.interface, first.tunnel) == ("v0", "tun0 known"))
    #expect((first.evidence("gateway"), first.address("gateway")) == ("neighbour_unresolved", "10.0.0.2"))
    try networks.far.run("ip addr del 10.0.0.2/24 dev v1")
    try networks.near.send(to: "10.0.0.2")
    #expect(try follow.next().failing == "gateway")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `text, a bar and explain say it`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    try networks.far.run("ip addr del 10.0.0.2/24 dev v1")
    try networks.near.run(
      "'\(Programs.probe)' datagrams 192.0.2.1 - 1 1",
      "until ip neigh show 10.0.0.2 | grep -q FAILED; do sleep 0.02; done")
    func run(_ arguments: String...) throws -> [String] {
      try ChildProcess.run(networks.near.command([Programs.netwatch] + arguments), environment: ["LC_ALL=C.UTF-8"])
        .output
    }
    let status = try run("status", "--stages", "--format", "text")
    #expect(status.contains("  ✓ link      up"))
    #expect(status.contains("  ✓ address   10.0.0.1"))
    #expect(status.contains("  ✗ gateway   10.0.0.2 does not answer"))
    #expect(status.contains("  ? internet  not checked; add --probe URL to check"))
    #expect(try run("explain").contains("  ✗ gateway   10.0.0.2 does not answer"))
    let json = try #require(try run("explain", "--json").first)
    #expect(json.contains(#""stages":{"failing":"gateway","#))
    #expect(try run("--format", "polybar", "--template", "{interface}{ stage}", "--color", "never") == ["v0 gateway"])
  }

  @Test func `a stage is a condition, and a hook is told of it`() throws {
    let networks = try TwoNetworks()
    try networks.near.hurryNeighbours(on: "v0")
    let names = try NameServer(in: networks.far, at: "10.0.0.2", "probe.example,10.0.0.2")
    let server = try AnswerServer(in: networks.far, answering: "302")
    let probe = ["--probe", "http://probe.example/probe", "--probe-interval", "0.1"]
    func check(_ stage: String) throws -> ChildProcess.Ending {
      try ChildProcess.run(
        names.command([Programs.netwatch, "--check", "--for", "stage=\(stage)"] + probe.prefix(2), in: networks.near)
      ).ending
    }
    #expect(try check("dns") == .exited(1))
    let wait = try names.netwatchIn(
      networks.near, ["wait", "--json", "--for", "stage=dns", "--for", "stage=internet"] + probe)
    for _ in 0..<3 { try server.nextRequest() }
    try server.answer("204")
    #expect(try wait.wait() == .exited(0))
    for stage in ["link", "address", "dns", "internet"] { #expect(try check(stage) == .exited(0), "\(stage)") }
    let gateway = try names.netwatchIn(networks.near, ["wait", "-q", "--for", "stage=gateway"])
    let sender = try networks.near.keepSending(to: "10.0.0.2")
    #expect(try gateway.wait() == .exited(0))
    sender.signal(SIGKILL)

    let hook = try networks.near.netwatch(
      "-f", "--stages", "--exec", "echo stage=$NETWATCH_STAGE,$NETWATCH_OLD_STAGE >&2")
    _ = try hook.nextErrorLine()
    try networks.far.run("ip link set v1 down")
    while let line = try hook.nextErrorLine(), !line.hasPrefix("stage=link,") {}
  }

  @Test func `status and explain wait for what a probe finds, of name servers too`() throws {
    let networks = try TwoNetworks()
    let names = try NameServer(in: networks.far, at: "10.0.0.2", "probe.example,10.0.0.2")
    let server = try AnswerServer(in: networks.far)
    let url = "http://probe.example/probe"
    /// Runs both commands at the same time, because they wait for the same answers, and returns their lines.
    func run() throws -> [[String]] {
      let children = try [["status", "--stages", "--format", "text"], ["explain"]].map { arguments in
        try ChildProcess(
          names.command([Programs.netwatch] + arguments + ["--probe", url, "--probe-timeout", "8"], in: networks.near),
          environment: ["LC_ALL=C.UTF-8"])
      }
      return try children.map { child in
        var lines: [String] = []
        while let line = try child.nextLine() { lines.append(line) }
        return lines
      }
    }
    for good in try run() {
      #expect(good.contains("  ✓ DNS       10.0.0.2 has answered"), "\(good)")
      #expect(good.contains("  ✓ internet  answers"))
    }
    names.pause()
    for bad in try run() {
      #expect(bad.contains("  ✗ DNS       10.0.0.2 does not answer"), "\(bad)")
      #expect(bad.contains("  ✗ internet  does not answer"))
    }
    names.goOn()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [
    (["--check", "--for", "stage=internet"], "stage=internet needs an answer from a server; add --probe."),
    (["--nudge"], "--nudge belongs to --follow; use netwatch -f."),
    (["--stages", "--nudge"], "--nudge belongs to --follow; use netwatch -f."),
    (["-f", "--nudge"], "--nudge belongs to --stages; add --stages."),
    (["-f", "--stages", "--record", "/tmp/x"], "--record does not hold which stage fails; leave out --stages."),
    (["wait", "--stages"], "wait does nothing with --stages; leave it out."),
    (["open"], "open needs a server to ask; add --probe URL, or --portal-api for the one that the network names."),
    (["open", "--stages", "--probe", "http://a/"], "open does nothing with --stages; leave it out."),
  ])
  func `wrong usage says what to do`(arguments: [String], sentence: String) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.error.contains(sentence))
  }
}
