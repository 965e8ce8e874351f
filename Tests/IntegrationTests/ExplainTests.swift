import Foundation
import NetwatchTestSupport
import Testing

/// Tests of `netwatch explain` in one layout after another: the text as it is in Golden, and the same content in JSON.
///
/// With `NETWATCH_UPDATE_GOLDEN=1` the tests write the texts instead. Read them before you commit them.
@Suite struct ExplainTests {
  struct Layout: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The name of the text in Golden, if it differs from the name of the layout.
    var text: String?
    /// Shell commands that run in a namespace with a pair of links, v0 and v1.
    var commands: [String] = []
    /// Whether v0 has 10.0.0.1 and a default route before the commands run.
    var isOnline = true
    /// The name of a tun device that stands for any tunnel, if there is one.
    var tunnel: String?
    /// A link that the commands have switched on, and for whose carrier the test waits.
    var running: String?
    var arguments: [String] = []
    var isReachable = false

    init(
      _ name: String, _ commands: String..., text: String? = nil, isOnline: Bool = true, tunnel: String? = nil,
      running: String? = nil, arguments: [String] = [], isReachable: Bool = false
    ) {
      testDescription = name
      self.text = text
      self.commands = commands
      self.isOnline = isOnline
      self.tunnel = tunnel
      self.running = running
      self.arguments = arguments
      self.isReachable = isReachable
    }
  }

  private static let secondLink = [
    "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up", "ip addr add 10.5.0.1/24 dev w0",
  ].joined(separator: " && ")
  private static let bridge = [
    "ip addr flush dev v0", "ip link add br0 type bridge", "ip link set br0 up", "ip addr add 10.0.0.1/24 dev br0",
    "ip route add default via 10.0.0.2",
  ].joined(separator: " && ")
  private static let hops = "nexthop via 10.0.0.2 nexthop via 10.5.0.2"
  private static let hopsReversed = "nexthop via 10.5.0.2 nexthop via 10.0.0.2"
  /// The routes and rules that wg-quick adds.
  private static let wireGuard = [
    "ip route add default dev wg0 table 51820",
    "ip rule add pref 32765 not fwmark 51820 table 51820", "ip rule add pref 32764 table main suppress_prefixlength 0",
  ].joined(separator: " && ")
  /// The routes that OpenVPN adds with `redirect-gateway def1`.
  private static let openVPN = [
    "ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1",
  ].joined(separator: " && ")

  static let layouts: [Layout] = [
    Layout("online", isReachable: true),
    Layout(
      "both families", "ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2", isReachable: true),
    Layout("cable pulled", "ip link set v1 down"),
    Layout("dormant", "ip link set v0 state dormant"),
    Layout("switched off", "ip link set v0 down"),
    Layout("no route", "ip route del default"),
    Layout("throw", "ip route del default", "ip route add throw default", text: "no route"),
    Layout("unreachable", "ip route del default", "ip route add unreachable default", text: "forbidden by a route"),
    Layout("prohibit", "ip route del default", "ip route add prohibit default", text: "forbidden by a route"),
    Layout("blackhole", "ip route del default", "ip route add blackhole default", text: "forbidden by a route"),
    Layout("address gone", "ip addr del 10.0.0.1/24 dev v0", "ip route add default dev v0"),
    Layout(
      "no more than 169.254", "ip addr del 10.0.0.1/24 dev v0", "ip addr add 169.254.7.7/16 dev v0",
      "ip route add default dev v0"),
    Layout(
      "tentative", "echo 1000 > /proc/sys/net/ipv6/conf/v0/dad_transmits", "ip link set v0 addrgenmode none",
      "ip -6 addr flush dev v0", "ip addr add fd00::1/64 dev v0", "ip route add default via fe80::1 dev v0",
      isOnline: false),
    Layout("back to this machine", "ip route add default dev lo", isOnline: false),
    Layout("empty bridge", bridge, isOnline: false),
    Layout(
      "bridge with a port", bridge, "ip link set v0 master br0", isOnline: false, running: "br0", isReachable: true),
    Layout(
      "macvlan", "ip link add link v0 name mv0 type macvlan", "ip link set mv0 up", "ip addr add 10.0.0.1/24 dev mv0",
      "ip route add default via 10.0.0.2", isOnline: false, running: "mv0", isReachable: true),
    Layout(
      "several hops, one dead", secondLink, "ip route del default", "ip route add default \(hops)",
      // The kernel chooses the hop by a hash. In the reverse order it chooses the other hop.
      "ip route get 192.0.2.1 | grep -q 'dev v0' || ip route replace default \(hopsReversed)", "ip link set v1 down",
      running: "w0", isReachable: true),
    Layout("WireGuard", wireGuard, tunnel: "wg0", isReachable: true),
    Layout("WireGuard, cable pulled", wireGuard, "ip link set v1 down", tunnel: "wg0"),
    Layout("WireGuard, uplink off", wireGuard, "ip link set v0 down", tunnel: "wg0"),
    Layout("OpenVPN", openVPN, tunnel: "tun0", isReachable: true),
    Layout("OpenVPN, cable pulled", openVPN, "ip link set v1 down", tunnel: "tun0"),
    Layout("OpenVPN, uplink off", openVPN, "ip link set v0 down", tunnel: "tun0"),
    Layout(
      "VPN server over one of two links", secondLink, "ip route add 198.18.0.7/32 via 10.0.0.2",
      "ip route replace default dev tun0", tunnel: "tun0", running: "w0", isReachable: true),
    Layout("VPN over the only link", "ip route replace default dev tun0", tunnel: "tun0", isReachable: true),
    Layout(
      "VPN over either of two links", secondLink, "ip route replace default dev tun0", tunnel: "tun0", running: "w0",
      isReachable: true),
    Layout("VPN over an ignored link", openVPN, tunnel: "tun0", arguments: ["--ignore", "v0"]),
    Layout(
      "VPN by name", "ip link add ppp0 type veth peer name ppp1", "ip link set ppp1 up", "ip link set ppp0 up",
      "ip addr add 10.6.0.1/24 dev ppp0", "ip route add 0.0.0.0/1 dev ppp0", "ip route add 128.0.0.0/1 dev ppp0",
      running: "ppp0", arguments: ["--tunnel", "ppp*"], isReachable: true),
    Layout(
      "tunnel from elsewhere", "\(NetworkNamespace.makeAnother)",
      "nsenter --target $pid --net ip link add vx0 type vxlan id 1 remote 198.51.100.7 dstport 4789",
      "nsenter --target $pid --net ip link set vx0 netns $$", "kill -STOP $pid", "ip link set vx0 up",
      "ip addr add 10.8.0.2/24 dev vx0", "ip route replace default via 10.8.0.1", isReachable: true),
    Layout(
      "kill switch", "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip addr add 10.9.0.1/24 dev ifb0",
      "ip route replace default dev ifb0"),
    Layout(
      "464XLAT", "ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0",
      "ip addr add 192.0.0.4/32 dev clat", "ip route replace default dev clat src 192.0.0.4", tunnel: "clat",
      isReachable: true),
    Layout("laboratory", "ip route del default", "ip addr add 192.0.2.7/24 dev v0"),
    Layout("filter of documentation addresses", "ip route add unreachable 192.0.2.0/24", isReachable: true),
    Layout(
      "all routes of the internet", "ip route del default", "ip route add 198.41.0.0/24 via 10.0.0.2",
      isReachable: true),
    Layout(
      "network on the link", "ip route del default", "ip route add 192.0.2.0/24 dev v0 proto kernel"),
    Layout(
      "AnyIP", "ip route add local 10.77.0.0/24 dev lo", "ip route replace default via 10.0.0.2 src 10.77.0.5",
      isReachable: true),
    Layout(
      "table of a user", "ip rule add pref 100 uidrange 0-0 lookup 88", "ip route add default via 10.0.0.3 table 88",
      isReachable: true),
    Layout("user who may not", "ip rule add pref 100 uidrange 0-0 prohibit"),
    Layout(
      "default in another table", "ip route del default", "ip rule add pref 100 lookup 77",
      "ip route add default via 10.0.0.2 table 77 metric 7", isReachable: true),
    Layout("address on the link", arguments: ["10.0.0.7"], isReachable: true),
    Layout("address of this machine", arguments: ["--target", "10.0.0.1"]),
    Layout(
      "port open", "ip rule add pref 100 dport 443 ipproto tcp prohibit", arguments: ["198.51.100.7:80"],
      isReachable: true),
    Layout("port shut", "ip rule add pref 100 dport 443 ipproto tcp prohibit", arguments: ["198.51.100.7:443"]),
    Layout(
      "chosen link", secondLink, "ip route add default via 10.5.0.2 metric 600", running: "w0",
      arguments: ["-i", "w*"],
      isReachable: true),
    Layout(
      "chosen link, cable pulled", secondLink, "ip route add default via 10.5.0.2 metric 600", "ip link set w1 down",
      arguments: ["-i", "w*"]),
    Layout("chosen link without a route", secondLink, running: "w0", arguments: ["-i", "w*"]),
    Layout(
      "ignored link", secondLink, "ip route add default via 10.5.0.2 metric 600", text: "chosen link",
      running: "w0", arguments: ["--ignore", "v0"], isReachable: true),
  ]

  @Test(arguments: layouts)
  func `the cause is named`(_ layout: Layout) throws {
    let namespace = layout.isOnline ? try NetworkNamespace.online() : try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    let tunnel = try layout.tunnel.map { try namespace.addTunnel($0) }
    for command in layout.commands { try namespace.run(command) }
    try layout.running.map { try namespace.waitUntilRunning($0) }
    let command = namespace.command([Programs.netwatch, "explain"] + layout.arguments)
    try Self.check(command, layout.text ?? layout.testDescription, isReachable: layout.isReachable)
    withExtendedLifetime(tunnel) {}
  }

  @Test func `the way out of a container is explained`() throws {
    let namespace = try NetworkNamespace(isContained: true)
    let program = try namespace.addTunnel("tap0")
    try namespace.run("ip route add default via 10.8.0.1")
    try Self.check(namespace.command([Programs.netwatch, "explain"]), "container", isReachable: true)
    withExtendedLifetime(program) {}
  }

  // MARK: Hosts

  @Test(arguments: [
    ("host", "office.example", true), ("host of two families", "both.example", true),
    ("host with a port", "office.example:443", true), ("host that is not there", "nowhere.example", false),
    ("host without a route", "far.example", false), ("host that is this machine", "self.example", false),
  ])
  func `a host is explained`(text: String, target: String, isReachable: Bool) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip route add throw 198.51.100.0/24")
    let server = try NameServer(
      in: namespace, "office.example,10.1.2.3", "both.example,10.1.2.3,fd00:7::3", "far.example,198.51.100.7",
      "self.example,127.0.1.1")
    try Self.check(server.command([Programs.netwatch, "explain", target]), text, isReachable: isReachable)
  }

  @Test func `a host whose name server is silent`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip link set v0 down")
    let server = try NameServer(in: namespace)
    let silent = try server.fallSilent()
    try Self.check(
      server.command([Programs.netwatch, "explain", "office.example"]), "host without an answer", isReachable: false)
    #expect(try silent.nextLine() == "asked")
  }

  // MARK: Options

  @Test func `options stand on either side`() throws {
    let namespace = try NetworkNamespace.online()
    for arguments in [
      ["explain", "--json"], ["--json", "explain"], ["explain", "--format", "json"], ["explain", "10.0.0.7", "--json"],
    ] {
      let result = try ChildProcess.run(namespace.command([Programs.netwatch] + arguments))
      #expect(result.output.count == 1, "\(arguments)")
      for line in result.output { keepLine(line, of: "explain") }
    }
    let colored = try ChildProcess.run(namespace.command([Programs.netwatch, "explain", "--color", "always"]))
    #expect(colored.output.first == "\u{1b}[1mIPv4 to the internet (192.0.2.1)\u{1b}[0m")
    let twice = try ChildProcess.run(
      namespace.command([Programs.netwatch, "explain", "--target", "10.0.0.7", "10.0.0.8"]))
    #expect(twice.ending == .exited(64))
    #expect(twice.error.contains("give one"))
  }

  // MARK: Golden texts

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
  private static let isUpdating = ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil

  /// Returns the lines without the stages. The stages depend on the name server of this machine, and StageTests check
  /// them.
  private static func withoutStages(_ lines: [String]) -> [String] {
    guard let start = lines.firstIndex(of: "The way to the internet"),
      let end = lines[start...].firstIndex(of: "")
    else { return lines }
    return Array(lines[..<start] + lines[(end + 1)...])
  }

  private static func check(_ command: [String], _ name: String, isReachable: Bool) throws {
    let result = try ChildProcess.run(command, environment: ["LC_ALL=C.UTF-8"])
    #expect(result.error == "")
    #expect(result.ending == .exited(isReachable ? 0 : 1))
    let text = withoutStages(result.output).map { $0 + "\n" }.joined()
    let file = folder.appending(path: "\(name.replacing(",", with: "").replacing(" ", with: "-")).txt")
    if isUpdating { try Data(text.utf8).write(to: file) }
    let golden = try String(contentsOf: file, encoding: .utf8)
    #expect(text == golden)

    let json = try ChildProcess.run(command + ["--json"])
    #expect(json.ending == result.ending)
    let line = try #require(json.output.first)
    keepLine(line, of: "explain")
    let object = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(["not-reachable", "unknown"].contains(object["status"] as? String) == !isReachable)
    #expect(object["summary"] as? String == result.output.last)
    let ways = try #require(object["ways"] as? [[String: Any]])
    let outcomes = result.output.filter { $0 == "  reachable" || $0.hasPrefix("  not reachable: ") }
    #expect(ways.map { $0["reachable"] as? Bool } == outcomes.map { $0 == "  reachable" })
    #expect(ways.contains { $0["reachable"] as? Bool == true } == isReachable)
    // Every step must also stand in the text, with a mark if it is to blame.
    let steps = ways.flatMap { $0["steps"] as? [[String: Any]] ?? [] }
    for step in steps + [object["name"] as? [String: Any]].compactMap({ $0 }) {
      let topic = try #require(step["step"] as? String).padding(toLength: 7, withPad: " ", startingAt: 0)
      let mark = step["ok"] as? Bool == true ? " " : "✗"
      #expect(result.output.contains("\(mark) \(topic) \(step["text"] as? String ?? "?")"), "\(step)")
    }
  }
}
