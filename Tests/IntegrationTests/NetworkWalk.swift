import NetwatchTestSupport
import Testing

/// A random change of the network configuration: commands for a shell in `near` or `far`. The variables `$near` and
/// `$far` hold the process ids of the two namespaces. The kernel may refuse any command.
struct WalkStep: CustomStringConvertible {
  enum Place: String { case near, far }
  let commands: [(place: Place, line: String)]

  init(_ commands: (Place, String)...) { self.commands = commands.map { (place: $0.0, line: $0.1) } }

  var description: String { commands.map { "\($0.place): \($0.line)" }.joined(separator: "\n  ") }
}

/// A generator that chooses the steps of a walk at random.
struct WalkGenerator {
  private static let uplinks = ["eth0", "eth1", "wlan0"]
  /// Options of ip(8) for the metric of a route. Without an option, the kernel chooses the metric.
  private static let metrics = ["", "", " metric 100", " metric 200", " metric 600"]

  private var random: SplitMix
  init(seed: UInt64) { random = SplitMix(seed: seed) }

  private mutating func number(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
  private mutating func one(of choices: String...) -> String { choices[number(choices.count)] }
  private mutating func metric() -> String { Self.metrics[number(Self.metrics.count)] }

  mutating func next() -> WalkStep {
    let uplink = number(Self.uplinks.count)
    switch number(100) {
    case ..<20: return link(uplink)
    case ..<34: return address4(uplink)
    case ..<46: return address6(uplink)
    case ..<62: return route4(uplink)
    case ..<78: return route6(uplink)
    case ..<85: return rule(uplink)
    case ..<89: return setting(uplink)
    case ..<94: return neighbour(uplink)
    case ..<97: return advertisement(uplink)
    default: return tunnel(uplink)
    }
  }

  // MARK: Links

  private mutating func link(_ uplink: Int) -> WalkStep {
    let name = Self.uplinks[uplink]
    switch number(12) {
    case ..<4: return WalkStep((.near, "ip link set \(name) \(one(of: "up", "up", "down"))"))
    case ..<8: return WalkStep((.far, "ip link set p\(uplink) \(one(of: "up", "up", "down"))"))
    case 8:
      return WalkStep(
        (.near, "ip link set \(name) down && ip link set \(name) name lan\(uplink) && ip link set lan\(uplink) up"))
    case 9:
      return WalkStep(
        (.near, "ip link set lan\(uplink) down; ip link set lan\(uplink) name \(name) && ip link set \(name) up"))
    case 10:
      return number(2) == 0
        ? WalkStep((.near, "ip link set \(name) netns $far")) : WalkStep((.far, "ip link set \(name) netns $near"))
    default:
      if number(3) == 0 { return WalkStep((.near, "ip link del \(name)")) }
      return Self.make(uplink)
    }
  }

  /// Returns the step that creates an uplink: a veth pair between `near` and `far`, and its addresses.
  static func make(_ uplink: Int) -> WalkStep {
    let name = uplinks[uplink]
    return WalkStep(
      (.near, "ip link add \(name) type veth peer name p\(uplink) netns $far && ip link set \(name) up"),
      (.far, "ip addr add 10.\(uplink).0.1/24 dev p\(uplink) && ip addr add fe80::1/64 dev p\(uplink) nodad"),
      (.far, "ip link set p\(uplink) up"), (.near, "ip addr add 10.\(uplink).0.2/24 dev \(name)"),
      (.near, "ip addr add 2a02:\(uplink + 1)::2/64 dev \(name) nodad"))
  }

  static func makeDefault(_ uplink: Int) -> WalkStep {
    let (name, metric) = (uplinks[uplink], 100 + 100 * uplink)
    return WalkStep(
      (.near, "ip route add default via 10.\(uplink).0.1 dev \(name) metric \(metric)"),
      (.near, "ip -6 route add default via fe80::1 dev \(name) metric \(metric)"))
  }

  // MARK: Addresses

  private mutating func address4(_ uplink: Int) -> WalkStep {
    let name = Self.uplinks[uplink]
    let address = one(
      of: "10.\(uplink).0.2/24", "10.\(uplink).0.2/24", "10.\(uplink).0.3/24", "10.\(uplink).9.9/32 scope link",
      "10.\(uplink).0.4/24 scope host", "169.254.\(uplink).7/16 scope link", "100.64.\(uplink).5/32")
    switch number(8) {
    case 0: return WalkStep((.near, "ip -4 addr flush dev \(name)"))
    case 1: return WalkStep((.near, "ip addr replace \(address) dev \(name) valid_lft 3 preferred_lft 1"))
    case ..<4: return WalkStep((.near, "ip addr del \(address) dev \(name)"))
    default: return WalkStep((.near, "ip addr add \(address) dev \(name)"))
    }
  }

  private mutating func address6(_ uplink: Int) -> WalkStep {
    let name = Self.uplinks[uplink]
    let address = one(
      of: "2a02:\(uplink + 1)::2/64", "2a02:\(uplink + 1)::2/64", "2a02:\(uplink + 1)::3/64",
      "fd00:\(uplink + 1)::2/64",
      "2a02:ff::\(uplink + 1)/128")
    switch number(10) {
    case 0: return WalkStep((.near, "ip -6 addr flush dev \(name) scope global"))
    case 1: return WalkStep((.near, "ip -6 addr flush dev \(name)"))
    case 2: return WalkStep((.near, "ip addr replace \(address) dev \(name) valid_lft 3 preferred_lft 1 nodad"))
    case 3: return WalkStep((.near, "ip addr change \(address) dev \(name) preferred_lft \(one(of: "0", "forever"))"))
    case ..<6: return WalkStep((.near, "ip addr del \(address) dev \(name)"))
    case 6: return WalkStep((.near, "ip addr add \(address) dev \(name)"))
    default: return WalkStep((.near, "ip addr add \(address) dev \(name) nodad"))
    }
  }

  // MARK: Routes

  private mutating func route4(_ uplink: Int) -> WalkStep {
    let (name, gateway, other) = (Self.uplinks[uplink], "10.\(uplink).0.1", (uplink + 1) % Self.uplinks.count)
    let metric = metric()
    switch number(20) {
    case ..<6: return WalkStep((.near, "ip route add default via \(gateway) dev \(name)\(metric)"))
    case 6: return WalkStep((.near, "ip route append default via \(gateway) dev \(name)\(metric)"))
    case 7: return WalkStep((.near, "ip route add default dev \(name) scope link\(metric)"))
    case 8: return WalkStep((.near, "ip route add default via 172.31.0.1 dev \(name) onlink\(metric)"))
    case 9: return WalkStep((.near, "ip route add default via \(gateway) dev \(name) src 10.\(uplink).0.3\(metric)"))
    case 10:
      return WalkStep(
        (
          .near,
          "ip route add default\(metric) nexthop via \(gateway) dev \(name) "
            + "nexthop via 10.\(other).0.1 dev \(Self.uplinks[other])"
        ))
    case 11:
      return WalkStep(
        (.near, "ip nexthop replace id \(uplink + 1) via \(gateway) dev \(name)"),
        (.near, "ip nexthop replace id 10 group \(one(of: "1", "1/2", "1/2/3", "2/3"))"))
    case 12: return WalkStep((.near, "ip route add default nhid \(one(of: "1", "2", "10"))\(metric)"))
    case 13: return WalkStep((.near, "ip nexthop flush"))
    case 14:
      let kind = one(of: "unreachable", "blackhole", "prohibit", "throw")
      return WalkStep((.near, "ip route add \(kind) default metric \(one(of: "50", "4000"))"))
    case 15:
      return WalkStep(
        (.near, "ip route add 0.0.0.0/1 via \(gateway) dev \(name)"),
        (.near, "ip route add 128.0.0.0/1 via \(gateway) dev \(name)"))
    case 16: return WalkStep((.near, "ip route del 0.0.0.0/1"), (.near, "ip route del 128.0.0.0/1"))
    case 17: return WalkStep((.near, "ip route flush default"))
    default: return WalkStep((.near, "ip route del default\(one(of: metric, " dev \(name)", ""))"))
    }
  }

  private mutating func route6(_ uplink: Int) -> WalkStep {
    let (name, other) = (Self.uplinks[uplink], (uplink + 1) % Self.uplinks.count)
    let (gateway, metric) = (one(of: "fe80::1", "fe80::1", "2a02:\(uplink + 1)::1", "fe80::99"), metric())
    switch number(18) {
    case ..<5: return WalkStep((.near, "ip -6 route add default via \(gateway) dev \(name)\(metric)"))
    case 5: return WalkStep((.near, "ip -6 route append default via \(gateway) dev \(name)\(metric)"))
    case 6:
      let lifetime = one(of: "2", "4", "300")
      return WalkStep(
        (.near, "ip -6 route replace default via \(gateway) dev \(name) proto ra metric 1024 expires \(lifetime)"))
    case 7: return WalkStep((.near, "ip -6 route add default from 2a02:\(uplink + 1)::/64 via \(gateway) dev \(name)"))
    case 8: return WalkStep((.near, "ip -6 route del default from 2a02:\(uplink + 1)::/64"))
    case 9:
      return WalkStep(
        (
          .near,
          "ip -6 route add default\(metric) nexthop via fe80::1 dev \(name) "
            + "nexthop via fe80::1 dev \(Self.uplinks[other])"
        ))
    case 10:
      let kind = one(of: "unreachable", "blackhole", "prohibit", "throw")
      return WalkStep((.near, "ip -6 route add \(kind) default metric \(one(of: "50", "4000"))"))
    case 11:
      return WalkStep((.near, "ip -6 route \(one(of: "add", "del")) 2000::/3 via fe80::1 dev \(name)"))
    case 12: return WalkStep((.near, "ip -6 nexthop replace id \(uplink + 21) via fe80::1 dev \(name)"))
    case 13: return WalkStep((.near, "ip -6 route add default nhid \(one(of: "21", "22", "23"))\(metric)"))
    case 14: return WalkStep((.near, "ip -6 route flush default"))
    default: return WalkStep((.near, "ip -6 route del default\(one(of: metric, " dev \(name)", ""))"))
    }
  }

  private mutating func rule(_ uplink: Int) -> WalkStep {
    let (name, table) = (Self.uplinks[uplink], 100 + uplink)
    let family = one(of: "", "", " -6")
    let (gateway, source) =
      family.isEmpty ? ("10.\(uplink).0.1", "10.\(uplink).0.2") : ("fe80::1", "2a02:\(uplink + 1)::2")
    switch number(14) {
    case ..<3: return WalkStep((.near, "ip\(family) route add default via \(gateway) dev \(name) table \(table)"))
    case 3: return WalkStep((.near, "ip\(family) route flush table \(table)"))
    case 4: return WalkStep((.near, "ip\(family) rule add from \(source) lookup \(table) pref 1000"))
    case 5: return WalkStep((.near, "ip\(family) rule add from \(source) prohibit pref 900"))
    case 6: return WalkStep((.near, "ip\(family) rule add fwmark 7 lookup \(table) pref 800"))
    case 7:
      return WalkStep((.near, "ip\(family) rule add uidrange \(one(of: "0-0", "4242-4242")) lookup \(table) pref 700"))
    case 8: return WalkStep((.near, "ip\(family) rule add lookup main suppress_prefixlength 0 pref 600"))
    case 9: return WalkStep((.near, "ip\(family) rule add lookup \(table) pref 1100"))
    case 10: return WalkStep((.near, "ip\(family) rule del pref \(one(of: "600", "700", "800"))"))
    default: return WalkStep((.near, "ip\(family) rule del pref \(one(of: "900", "1000", "1100"))"))
    }
  }

  // MARK: The rest

  private mutating func setting(_ uplink: Int) -> WalkStep {
    let (name, value) = (one(of: "all", Self.uplinks[uplink]), one(of: "0", "1"))
    switch number(4) {
    case 0: return WalkStep((.near, "echo \(value) >/proc/sys/net/ipv4/conf/\(name)/ignore_routes_with_linkdown"))
    case 1: return WalkStep((.near, "echo \(value) >/proc/sys/net/ipv6/conf/\(name)/ignore_routes_with_linkdown"))
    case 2: return WalkStep((.near, "echo \(value) >/proc/sys/net/ipv6/conf/\(Self.uplinks[uplink])/disable_ipv6"))
    default: return WalkStep((.near, "echo \(value) >/proc/sys/net/ipv4/nexthop_compat_mode"))
    }
  }

  private mutating func neighbour(_ uplink: Int) -> WalkStep {
    let (gateway, state) = (
      one(of: "10.\(uplink).0.1", "fe80::1", "fe80::99"), one(of: "failed", "reachable", "permanent", "stale")
    )
    let address = state == "failed" ? "" : " lladdr 02:00:00:00:00:0\(uplink + 1)"
    return WalkStep((.near, "ip neigh replace \(gateway) dev \(Self.uplinks[uplink])\(address) nud \(state)"))
  }

  /// Returns a step in which a router advertises a default route that lasts for some seconds.
  private mutating func advertisement(_ uplink: Int) -> WalkStep {
    WalkStep((.far, "'\(Programs.probe)' advertise p\(uplink) \(one(of: "0", "2", "4", "300"))"))
  }

  /// Returns a step that sets up or takes down a tunnel as OpenVPN does. The tunnel has a host route to its server,
  /// which differs by uplink, and takes the two halves of the IPv4 internet or replaces the default route.
  private mutating func tunnel(_ uplink: Int) -> WalkStep {
    let server = "10.9.\(uplink).9"
    switch number(6) {
    case ..<3:
      return WalkStep(
        (.near, "ip route flush root 10.9.0.0/16"),
        (.near, "ip route add \(server) via 10.\(uplink).0.1 dev \(Self.uplinks[uplink])"),
        (.near, "ip link set tun0 up; ip addr replace 10.8.0.2/24 dev tun0"),
        (.near, "ip route replace 0.0.0.0/1 via 10.8.0.1 dev tun0"),
        (.near, "ip route replace 128.0.0.0/1 via 10.8.0.1 dev tun0"))
    case 3: return WalkStep((.near, "ip link set tun0 down"))
    case 4:
      return WalkStep(
        (.near, "ip route flush root 10.9.0.0/16"),
        (.near, "ip route add \(server) via 10.\(uplink).0.1 dev \(Self.uplinks[uplink])\(metric())"),
        (.near, "ip link set tun0 up; ip addr replace 10.8.0.2/24 dev tun0"),
        (.near, "ip route replace default via 10.8.0.1 dev tun0"))
    default:
      return WalkStep((.near, "ip link set tun0 down"), (.near, "ip route flush root 10.9.0.0/16"))
    }
  }
}

/// A network namespace with three uplinks, and three views of it: a running netwatch, a new one, and the kernel's own
/// answers.
final class WalkWorld {
  struct Disagreement {
    let text: String
    /// The rules, routes and links at the time of the disagreement.
    let configuration: String
  }

  /// A way that a socket has found: its source address and its link.
  struct Way: Hashable, CustomStringConvertible {
    let source, link: String
    var description: String { "\(link) from \(source)" }
  }

  /// What a program in the namespace can reach, according to sockets and ip(8).
  struct Truth: CustomStringConvertible {
    var ipv4: Set<Way> = []
    var ipv6: Set<Way> = []
    /// The IPv6 ways of sockets that are bound to a source address. They are found only if no other socket finds a
    /// route, because the source that the kernel then chooses depends on the destination.
    var ipv6Bound: Set<Way> = []
    /// Whether an IPv6 default route has several next hops. The kernel chooses the source address of a socket for one
    /// of them. With that source, it may then choose another one for the way.
    var hasNextHops = false
    /// Whether several IPv4 default routes have the same metric. The kernel may change its choice between the two
    /// lookups of a socket, which then has the source of one route and the way of the other.
    var hasEqualRoutes = false
    /// The links by which the packets of the tunnel leave, if IPv4 leads into the tunnel. Nil if IPv4 does not lead
    /// into it, or if nothing shows which address is the tunnel's server. That is so in two cases: all routes to the
    /// server lead through the tunnel itself, or the route uses another router than the default routes over the same
    /// link. Such a route may have been written by a person for another purpose.
    var carriers: Set<String>?
    var isOpen = false
    /// Whether IPv6 has a way for some source addresses only. netwatch asks for one address of each network, and
    /// sockets may take another one.
    var isBySource = false
    /// The routers that do not answer, as ways with the router in place of the source. Among several next hops, the
    /// kernel avoids these routers even if the links of all others are dead. netwatch does not judge routers.
    var failedRouters: Set<Way> = []

    var description: String {
      func list(_ texts: some Sequence<String>) -> String { texts.sorted().joined(separator: ", ") }
      return "IPv4 [\(list(ipv4.map(\.description)))], IPv6 [\(list(ipv6.map(\.description)))]"
        + (carriers.map { ", the tunnel over [\(list($0))]" } ?? "")
    }
  }

  private static let tunnel = "tun0"
  private let near, far: NetworkNamespace
  private let reach: ChildProcess
  private let tunnelHolder: ChildProcess
  private let follow: Follow

  init() throws {
    near = try NetworkNamespace()
    far = try NetworkNamespace(beside: near)
    try far.configure((0..<3).map { "addr add 10.9.\($0).9/32 dev lo" }.joined(separator: "\n"))
    tunnelHolder = try ChildProcess(near.command([Programs.probe, "tunnel", Self.tunnel]))
    guard try tunnelHolder.nextLine() == "open" else { throw TestFailure(try tunnelHolder.errorText()) }
    reach = try ChildProcess(near.command([Programs.probe, "reach"]))
    for uplink in 0..<3 {
      try Self.run(WalkGenerator.make(uplink), near, far)
      try Self.run(WalkGenerator.makeDefault(uplink), near, far)
    }
    follow = try near.follow("--no-service")
    _ = try follow.next()
  }

  func take(_ step: WalkStep) throws { try Self.run(step, near, far) }

  private static func run(_ step: WalkStep, _ near: NetworkNamespace, _ far: NetworkNamespace) throws {
    for (place, line) in step.commands {
      // The kernel refuses a command that does not fit the configuration.
      try (place == .near ? near : far).run("near=\(near.pid) far=\(far.pid)\n{ \(line)\n} || :")
    }
  }

  // MARK: Three views

  /// Looks at the three views until they agree.
  ///
  /// - Returns: How the views still differ after five seconds; nil if they agree.
  func disagreement() throws -> Disagreement? {
    let deadline = Deadline(5)
    while true {
      while follow.process.hasLine { _ = try follow.next() }
      let truth = try truth()
      let fresh = try fresh()
      guard let newest = follow.lines.last else { throw TestFailure("netwatch --follow says nothing") }
      guard let text = Self.difference(newest, fresh, truth) else { return nil }
      if deadline.isOver { return Disagreement(text: text, configuration: try configuration()) }
      try near.run("sleep 0.05")
    }
  }

  /// Returns how the lines of a running and of a new netwatch differ from the truth; nil if they do not. Between equal
  /// routes, the kernel may change its choice with each lookup, so the two lines may differ from each other if each of
  /// them is true.
  private static func difference(_ newest: Line, _ fresh: Line, _ truth: Truth) -> String? {
    if let text = difference(fresh, truth) { return "a new netwatch says \(text)" }
    guard state(of: newest) != state(of: fresh), let text = difference(newest, truth) else { return nil }
    return "a running netwatch says \(text); a new one \(state(of: fresh))"
  }

  private func fresh() throws -> Line {
    let result = try ChildProcess.run(near.command([Programs.netwatch, "status", "--json", "--no-service"]))
    guard let text = result.output.first else { throw TestFailure("netwatch status says nothing: \(result.error)") }
    return try Line(text)
  }

  private static func state(of line: Line) -> String {
    func way(_ family: [String: Any]?) -> String? {
      family.map { "\($0["address"] ?? "") via \($0["gateway"] ?? "-")" }
    }
    return [line.status, line.medium, line.interface, line.tunnel, way(line.ipv4), way(line.ipv6)]
      .map { $0 ?? "-" }.joined(separator: ", ")
  }

  private static func difference(_ line: Line, _ truth: Truth) -> String? {
    let sources = (line.ipv4?["address"] as? String, line.ipv6?["address"] as? String)
    if truth.isOpen { return nil }
    /// Returns the ways that sockets find. If there are none, returns the way that netwatch reports if it uses a router
    /// that does not answer.
    func orFailed(_ ways: Set<Way>, _ told: [String: Any]?) -> Set<Way> {
      guard ways.isEmpty, let source = told?["address"] as? String, let link = told?["interface"] as? String,
        truth.failedRouters.contains(where: { $0.source == told?["gateway"] as? String && $0.link == link })
      else { return ways }
      return [Way(source: source, link: link)]
    }
    let isDead = truth.carriers?.isEmpty ?? false
    let expected = (
      isDead ? [] : orFailed(truth.ipv4, line.ipv4),
      orFailed(truth.ipv6.isEmpty ? truth.ipv6Bound : truth.ipv6, line.ipv6)
    )
    let links = expected.0.isEmpty ? Set(expected.1.map(\.link)) : truth.carriers ?? Set(expected.0.map(\.link))
    let agrees = { (source: String?, ways: Set<Way>, link: String?) in
      guard let source, !ways.isEmpty else { return ways.isEmpty && source == nil }
      let network = source.split(separator: "::").first
      return ways.contains {
        $0.source == source || truth.isBySource && $0.source.split(separator: "::").first == network
          || (source.contains(":") ? truth.hasNextHops : truth.hasEqualRoutes) && $0.link == link
      }
    }
    let isReachable = line.status != "not-reachable"
    guard agrees(sources.0, expected.0, line.ipv4?["interface"] as? String),
      agrees(sources.1, expected.1, line.ipv6?["interface"] as? String), isReachable != links.isEmpty,
      line.interface.map(links.contains) ?? links.isEmpty
    else { return "\(state(of: line)); sockets find \(truth)" }
    return nil
  }

  private func truth() throws -> Truth {
    reach.write((0..<3).map { "10.9.\($0).9" }.joined(separator: " ") + "\n")
    var found: [(address: String, source: String)] = []
    while let line = try reach.nextLine(), !line.isEmpty {
      let words = line.split(separator: " ").map(String.init)
      found.append((words[0], words[1].prefix { $0 != "%" }.description))
    }
    let own = try ownAddresses()
    let questions =
      // An IPv6 socket keeps the way of a lookup without a source, so that lookup comes first.
      found.filter { $0.address.contains(":") }.map { "route get \($0.address)" }
      + found.map { "route get \($0.address) from \($0.source)" }
      + own.map { "route get 2001:db8:\($0.number)::1 from \($0.address)" } + [
        "link show", "route show default", "route get fibmatch 2001:db8::1", "neigh show nud failed",
        "neigh show nud permanent",
      ]
    let answers = try ChildProcess.run(
      near.command(["sh", "-c", "printf '%s\\n' \"$@\" | ip -force -o -batch -", "sh"] + questions))
    var links: [String: String] = [:]
    var routes: [String: String] = [:]
    var routers: [String: String] = [:]
    var defaults: [String: Set<String>] = [:]
    var failedRouters: Set<Way> = []
    var linksOfPermanentRouters: Set<String> = []
    var isBySource = true
    var (hasNextHops, hasEqualRoutes) = (false, false)
    var metrics: Set<String> = []
    for line in answers.output {
      let words = line.split(separator: " ").map(String.init)
      if line.contains(" from :: ") { isBySource = false }
      if words.last == "FAILED", let place = words.firstIndex(of: "dev"), place + 1 < words.count {
        failedRouters.insert(Way(source: words[0], link: words[place + 1]))
      } else if words.last == "PERMANENT", let place = words.firstIndex(of: "dev"), place + 1 < words.count {
        linksOfPermanentRouters.insert(words[place + 1])
      } else if words[0] == "default", line.contains(" pref ") {
        hasNextHops = hasNextHops || line.contains("nexthop")
      } else if words[0] == "default" {
        let metric = words.firstIndex(of: "metric").map { words[$0 + 1] } ?? "0"
        hasEqualRoutes = !metrics.insert(metric).inserted || hasEqualRoutes
        for place in words.indices.dropLast() where words[place] == "dev" {
          defaults[words[place + 1], default: []].insert(words[place - 1])
        }
      } else if words[0].hasSuffix(":"), let name = words[1].split(whereSeparator: { "@:".contains($0) }).first {
        links[String(name)] = words.first { $0.hasPrefix("<") }
      } else if let place = words.firstIndex(of: "dev"), place + 1 < words.count {
        routes[words[0]] = routes[words[0]] ?? words[place + 1]
        routers[words[0]] = routers[words[0]] ?? words[place - 1]
      }
    }
    let alive = Set(links.filter { $0.value.contains("LOWER_UP") && !$0.value.contains("LOOPBACK") }.keys)
    var truth = Truth(isBySource: isBySource, failedRouters: failedRouters)
    (truth.hasNextHops, truth.hasEqualRoutes) = (hasNextHops, hasEqualRoutes)
    // The kernel alternates between equal routes, even if one of them uses a dead link.
    truth.isOpen = hasEqualRoutes && !linksOfPermanentRouters.isSubset(of: alive)
    var carriers: Set<String> = []
    var isOwn = false
    for (address, source) in found {
      guard let link = routes[address] else { continue }
      if address.hasPrefix("10.9.") {
        guard link != Self.tunnel, let router = routers[address] else { continue }
        // In a default route without a router, the word before "dev" is no address.
        let isAny = defaults[link]?.contains { !$0.contains(".") } ?? true
        guard isAny || defaults[link]?.contains(router) ?? true else {
          isOwn = true
          continue
        }
        if alive.contains(link) { carriers.insert(link) }
        continue
      }
      guard alive.contains(link) else { continue }
      let isLocal =
        ["127.", "0.0.0.0", "169.254.", "fe80:"].contains(where: source.hasPrefix) || ["::", "::1"].contains(source)
      guard !isLocal else { continue }
      if address.contains(":") {
        truth.ipv6.insert(Way(source: source, link: link))
      } else {
        truth.ipv4.insert(Way(source: source, link: link))
      }
    }
    for (number, address) in own where !found.contains(where: { $0.address.contains(":") }) {
      guard let link = routes["2001:db8:\(number)::1"], alive.contains(link) else { continue }
      truth.ipv6Bound.insert(Way(source: address, link: link))
    }
    guard truth.ipv4.contains(where: { $0.link == Self.tunnel }) else { return truth }
    truth.isOpen =
      truth.isOpen
      || isOwn && carriers.isEmpty || !routes.contains { $0.key.hasPrefix("10.9.") && $0.value != Self.tunnel }
    truth.carriers = truth.isOpen ? nil : carriers
    return truth
  }

  /// Returns the IPv6 addresses that a socket can be bound to, with consecutive numbers.
  private func ownAddresses() throws -> [(number: Int, address: String)] {
    let lines = try ChildProcess.run(
      near.command(["ip", "-6", "-o", "addr", "show", "scope", "global", "-tentative"])
    ).output
    let addresses = lines.compactMap { line in
      let words = line.split(separator: " ")
      return words.firstIndex(of: "inet6").flatMap { words[$0 + 1].split(separator: "/").first.map(String.init) }
    }
    return addresses.enumerated().map { ($0.offset + 1, $0.element) }
  }

  /// Returns the parts of the configuration that a person needs to understand a disagreement.
  func configuration() throws -> String {
    let commands = [
      "-br link", "-br addr", "rule", "route show table all", "-6 rule", "-6 route show table all", "nexthop", "neigh",
    ]
    let script = commands.map { "echo '# ip \($0)'; ip \($0)" }.joined(separator: "; ")
    return try ChildProcess.run(near.command(["sh", "-c", script])).output
      .filter { !$0.contains("table local") && !$0.contains("multicast") }.joined(separator: "\n")
  }
}
