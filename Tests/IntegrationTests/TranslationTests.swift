import Foundation
import NetwatchTestSupport
import Testing

/// What is said of translated IPv4: NAT64 of the network (RFC 8781), and 464XLAT of this machine.
@Suite struct TranslationTests {
  /// A way in which a machine reaches IPv4 servers, and what is said of it.
  struct SetUp: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The commands that make it, beside an IPv6 default route.
    var commands: [String] = []
    /// The options that the router advertises.
    var options = ""
    /// The `translation` of the line: its prefix and who translates. Nil if it is null.
    var translation: String?
    /// Whether the line says that IPv4 is translated.
    var isTranslated = false
    /// The program that has to run.
    var translator: String?

    init(
      _ name: String, _ commands: String..., options: String = "", is translation: String? = nil,
      isTranslated: Bool = false
    ) {
      testDescription = name
      (self.commands, self.options, self.translation, self.isTranslated) = (
        commands, options, translation, isTranslated
      )
    }
  }

  private static let prefix = "prefix=64:ff9b::,0,600"
  private static let native = ["ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2"]

  /// What clatd does for 464XLAT: tayga translates between its tun device and IPv6.
  private static func clat(in folder: TemporaryFolder) -> [String] {
    [
      "tayga --mktun -c '\(folder.file("tayga.conf"))'", "ip link set clat up", "ip addr add 192.0.0.1/32 dev clat",
      "ip route add 2a02:9::c1a7/128 dev clat", "ip route add 2a02:9::c1a8/128 dev clat",
      "ip route add default dev clat",
    ]
  }

  static let setUps = [
    SetUp("dual stack", native[0], native[1]),
    SetUp("dual stack in a network with NAT64", native[0], native[1], options: prefix, is: "64:ff9b::/96 none"),
    SetUp("IPv6 only"),
    SetUp("with a name server that may have DNS64, which is not asked", options: "server=fd00::2"),
    SetUp("with PREF64", options: prefix, is: "64:ff9b::/96 nat64"),
    SetUp("with PREF64 of 56 bits", options: "prefix=2001:db8:1:200::,2,600", is: "2001:db8:1:200::/56 nat64"),
    SetUp(
      "464XLAT on the link, as NetworkManager makes it", "ip addr add 192.0.0.1/32 dev v0",
      "ip route add default src 192.0.0.1 via inet6 fe80::2 dev v0", options: prefix, is: "64:ff9b::/96 clat",
      isTranslated: true),
    SetUp(
      "a container's network, whose gateway translates", "ip addr add 192.0.0.2/29 dev v0",
      "ip route add default via 192.0.0.1"),
  ]

  private func said(_ line: Line) -> String? {
    let value = (line.object["reachability"] as? [String: Any])?["translation"] as? [String: Any]
    return value.map { "\($0["prefix"] as? String ?? "-") \($0["by"] as? String ?? "?")" }
  }

  private func isTranslated(_ line: Line) -> Bool { line.ipv4?["translated"] as? Bool ?? false }

  private func network() throws -> TwoNetworks {
    let networks = try TwoNetworks()
    try networks.near.configure("route del default", "addr del 10.0.0.1/24 dev v0")
    try networks.near.run("ip -6 addr add fe80::1/64 dev v0 nodad")
    try networks.far.run("ip -6 addr add fe80::2/64 dev v1 nodad")
    return networks
  }

  /// Reads lines until one says this.
  private func line(of follow: Follow, _ translation: String?) throws -> Line {
    while true {
      let line = try follow.next()
      if said(line) == translation, line.status == "wifi" { return line }
    }
  }

  @Test(arguments: setUps) func `each way to IPv4 has its name`(_ setUp: SetUp) throws {
    let networks = try network()
    for command in setUp.commands { try networks.near.run(command) }
    let follow = try networks.near.follow("--no-service", "--announced")
    var last = try follow.next()
    try networks.far.advertise(from: "v1", lifetime: 600, options: setUp.options)
    // The advertisement brings the way out over IPv6. This one is told after everything that came before it.
    try networks.far.advertise(from: "v1", lifetime: 600, portal: "https://end.example/")
    while (last.object["reachability"] as? [String: Any])?["portal_api"] as? String == nil || last.ipv6 == nil {
      last = try follow.next()
    }
    #expect(said(last) == setUp.translation)
    #expect(isTranslated(last) == setUp.isTranslated)
    let words = try ChildProcess.run(networks.near.command([Programs.netwatch, "explain"])).output.joined(
      separator: "\n")
    #expect(words.contains("464XLAT") == setUp.isTranslated, "\(words)")
  }

  @Test func `464XLAT with tayga: IPv4 is translated, and its packets are IPv6`() throws {
    try requireProgram("tayga")
    let networks = try network()
    let folder = try TemporaryFolder()
    try folder.write(
      """
      tun-device clat
      ipv4-addr 192.0.0.2
      ipv6-addr 2a02:9::c1a8
      prefix 2001:db8:64::/96
      map 192.0.0.1 2a02:9::c1a7

      """, to: "tayga.conf")
    try networks.far.advertise(from: "v1", lifetime: 600, options: "prefix=2001:db8:64::,0,600")
    try networks.near.run("until ip -6 route | grep -q ^default; do sleep 0.02; done")
    let follow = try networks.near.follow("--no-service", "--announced")
    #expect(said(try follow.next()) == nil)
    // What tayga translates is forwarded, which would otherwise make the kernel ignore advertisements.
    try networks.near.run(
      "echo 2 >/proc/sys/net/ipv6/conf/v0/accept_ra", "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
    for command in Self.clat(in: folder) { try networks.near.run(command) }
    let tayga = try ChildProcess(networks.near.command(["tayga", "-d", "-n", "-c", folder.file("tayga.conf")]))
    try networks.far.advertise(from: "v1", lifetime: 600, options: "prefix=2001:db8:64::,0,600")
    let told = try line(of: follow, "2001:db8:64::/96 clat")
    #expect(isTranslated(told))
    #expect(told.vpn == nil)
    #expect(told.interface == "v0")
    // A packet to an IPv4 server arrives as one to an address within the prefix.
    try networks.far.run("ip addr add 2001:db8:64::c633:6407/128 dev v1 nodad")
    let server = try ChildProcess(
      networks.far.command([
        "python3", "-u", "-c",
        """
        import socket
        server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        server.bind(("2001:db8:64::c633:6407", 5000))
        print("ready")
        print(server.recvfrom(9)[1][0])
        """,
      ]))
    #expect(try server.nextLine() == "ready")
    try networks.near.run(
      "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"198.51.100.7\", 5000))'"
    )
    #expect(try server.nextLine() == "2a02:9::c1a7")
    tayga.signal(SIGTERM)
  }

  @Test func `a prefix is told at once, and its end within a second`() throws {
    let networks = try network()
    let follow = try networks.near.follow("--no-service", "--announced")
    try networks.far.advertise(from: "v1", lifetime: 600)
    _ = try line(of: follow, nil)
    var delays: [Int] = []
    for round in 0..<20 {
      let prefix = round.isMultiple(of: 2) ? "64:ff9b::,0,600" : "64:ff9b::,0,0"
      let sent = try ChildProcess.run(
        networks.far.command([Programs.probe, "advertise", "v1", "600", "prefix=\(prefix)"]))
      let time = Int(sent.output.first ?? "") ?? 0
      let told = try line(of: follow, round.isMultiple(of: 2) ? "64:ff9b::/96 nat64" : nil)
      delays.append((told.monotonicNanoseconds ?? 0) - time)
    }
    delays.sort()
    print("prefixes of NAT64: told after \(delays[10] / 1_000) µs, at most \(delays[19] / 1_000) µs")
    #expect(delays[10] < 20_000_000)
    // The shortest lifetime that can be advertised is eight seconds.
    let sent = try ChildProcess.run(
      networks.far.command([Programs.probe, "advertise", "v1", "600", "prefix=64:ff9b::,0,8"]))
    _ = try line(of: follow, "64:ff9b::/96 nat64")
    let over = try line(of: follow, nil)
    #expect(over.reason == "announcement_changed")
    let late = (over.monotonicNanoseconds ?? 0) - (Int(sent.output.first ?? "") ?? 0) - 8_000_000_000
    print("its end: told \(late / 1_000) µs after it")
    #expect(0..<1_000_000_000 ~= late)
  }
}
