/// A question to the kernel, with all that it asks: which way would a packet leave?
package struct RouteQuery: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The way of a packet: one hop.
    case way
    /// The route itself with all its next hops, not the single hop that a hash chooses.
    case route
    /// The way of a packet over ``link``, for the source that the kernel takes there.
    case sourcedWay
    /// The route itself again, for the time at which it ends.
    case lifetime
    /// The single addresses of the destination's family to which somebody has written a route over ``link``, by the link's router;
    /// no way. VPN clients write such a route to their server.
    case hostRoutes
    /// The rules that choose the table, of the destination's family; no way.
    case rules
    /// The links on which other machines are known, by either family; no way.
    case neighbours
  }

  package var destination: InternetAddress
  package var kind: Kind
  /// The id of the user whose packets these are, because rules can select by it.
  package var user: UInt32
  /// The address that the packets come from; nil if the kernel chooses it. A socket without an address asks twice: for a way,
  /// which names a source, and then for the way of packets from that source.
  package var source: InternetAddress?
  /// The TCP port that the packets go to; nil for none.
  package var port: UInt16?
  /// The TCP port that the packets come from; nil for none.
  package var sourcePort: UInt16?
  /// The mark of the packets, such as those that a tunnel itself sends; 0 for none.
  package var mark: UInt32
  /// The VRF in which the packets are sent; 0 for none.
  package var vrf: Int32 = 0
  /// The only link to use; 0 for any.
  package var link: Int32

  package init(
    _ destination: InternetAddress, _ kind: Kind = .way, user: UInt32 = 0, port: UInt16? = nil, mark: UInt32 = 0,
    link: Int32 = 0
  ) {
    self.destination = destination
    self.kind = kind
    self.user = user
    self.port = port
    self.mark = mark
    self.link = link
  }

  package var family: AddressFamily { destination.family }

  /// Whether the answer is the route itself and not the way of a packet. It is for a link too, because IPv4 would otherwise
  /// answer "on the link" without any route. Such an answer has no source but that of the route.
  package var asksForRoute: Bool { kind == .way ? link != 0 : kind != .sourcedWay }

  /// Feeds what tells most questions apart into a hasher.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(destination)
    hasher.combine(link)
  }

  /// Returns the same question about the route itself, or for its end.
  func asking(_ kind: Kind) -> RouteQuery {
    var query = self
    query.kind = kind
    return query
  }

  /// Returns the same question for packets from an address.
  func from(_ source: InternetAddress) -> RouteQuery {
    var query = self
    query.source = source
    return query
  }

  /// Returns the same question as if this link were the only one.
  func over(_ link: Int32) -> RouteQuery {
    var query = self
    query.link = link
    return query
  }

  /// Returns the question for the rules of a family.
  package static func rules(_ family: AddressFamily) -> RouteQuery { RouteQuery(.unspecified(family), .rules) }

  /// The question for the links on which other machines are known.
  static let neighbours = RouteQuery(.unspecified(.ipv4), .neighbours)

  /// Returns the question for the routes to single addresses over a link.
  package static func hostRoutes(_ family: AddressFamily, over link: Int32) -> RouteQuery {
    RouteQuery(.unspecified(family), .hostRoutes, link: link)
  }
}

/// One way out of this machine.
package struct RouteHop: Hashable, Sendable {
  package var interfaceIndex: Int32
  package var gateway: InternetAddress?
  /// The length of the route's prefix, in answers that are the route itself. 0 for a default route.
  package var prefixLength: UInt8
  /// The writer of the route: RTPROT_* of <linux/rtnetlink.h>.
  package var origin: UInt8
  /// The metric of the route; lower is better.
  package var metric: UInt32
  /// The routing table that has the route.
  package var table: UInt32
  /// The source address. Unspecified if a socket would have none. Nil in answers that are the route itself: those name the
  /// source only if the route's writer has chosen it.
  package var source: InternetAddress?
  /// The scope of the route: RT_SCOPE_* of <linux/rtnetlink.h>. IPv4 takes no address of a narrower scope as source.
  package var scope: UInt8 = 0
  /// The time until the route ends, in hundredths of a second, in answers that are the route itself. 0 if the route does not
  /// end.
  package var lifetime: UInt32 = 0
  /// Whether the kernel does not use the hop, because its link is down, or has no IPv6 (RTNH_F_DEAD).
  package var isDead = false

  package init(
    interfaceIndex: Int32, gateway: InternetAddress? = nil, source: InternetAddress? = nil, metric: UInt32 = 0,
    table: UInt32 = RoutingRule.mainTable, prefixLength: UInt8 = 0, origin: UInt8 = RouteHop.bootOrigin
  ) {
    self.interfaceIndex = interfaceIndex
    self.gateway = gateway
    self.source = source
    self.metric = metric
    self.table = table
    self.prefixLength = prefixLength
    self.origin = origin
  }

  /// Returns whether somebody has written the route for a single address.
  package func isHostRoute(_ family: AddressFamily) -> Bool {
    gateway != nil && prefixLength == (family == .ipv4 ? 32 : 128) && !isAutomatic
  }

  /// The router as the kernel's table of neighbours has it. Nil if the hop has none.
  var router: Neighbour? { gateway.map { Neighbour(interfaceIndex: interfaceIndex, address: $0) } }

  /// Returns whether the hop leads over the same link to the same router.
  func isSameWay(as other: RouteHop) -> Bool { interfaceIndex == other.interfaceIndex && gateway == other.gateway }

  /// Whether the route was written by the kernel, or because of a router or a DHCP server.
  var isAutomatic: Bool {
    switch origin {
    case Self.redirectOrigin, Self.kernelOrigin, Self.advertisementOrigin, Self.dhcpOrigin: true
    default: false
    }
  }

  // RTPROT_* of <linux/rtnetlink.h>.
  package static let redirectOrigin: UInt8 = 1
  package static let kernelOrigin: UInt8 = 2
  package static let bootOrigin: UInt8 = 3
  package static let advertisementOrigin: UInt8 = 9
  package static let dhcpOrigin: UInt8 = 16
}

/// The end of an IPv6 route in use, as far as the kernel has told it.
package enum RouteEnd: Hashable, Sendable {
  /// Not told, or there is none.
  case unknown
  case known(Duration)
  /// It is less than one of the kernel's time steps away.
  case looming(Duration)

  /// Slightly more than the kernel's own time steps.
  package static let slack = Duration.milliseconds(30)

  /// Creates the end of a route for which the kernel has told a time in hundredths of a second; 0 for none.
  ///
  /// - Parameter before: The end as it was known before; nil if it was not.
  init(after ticks: UInt32, _ before: RouteEnd?, at now: Duration) {
    self =
      switch (ticks, before) {
      case (1..., _): .known(now + .milliseconds(10) * Int(ticks) + Self.slack)
      // An end that is less than a time step away is told like none.
      case (_, .known): .looming(now + Self.slack)
      case (_, .looming(let time)): .looming(time)
      case (_, .unknown), (_, nil): .unknown
      }
  }

  var time: Duration? {
    switch self {
    case .unknown: nil
    case .known(let time), .looming(let time): time
    }
  }
}

/// The kernel's answer to a ``RouteQuery``.
package enum RouteAnswer: Hashable, Sendable {
  case hop(RouteHop)
  /// More than one way, as answer to a question for all hops.
  case hops([RouteHop])
  /// No route matches, or a `throw` route does (ENETUNREACH).
  case noRoute
  /// A route forbids the way (EHOSTUNREACH, EACCES, EINVAL for a black hole), or the answer is no unicast route.
  case refused
  /// The address is one of this machine's own.
  case own
  /// The rules in the order of their priority, as answer to a question for the rules.
  case rules([RoutingRule])
  /// The destinations of routes to single addresses, as answer to a question for those.
  case hostRoutes([InternetAddress])
  /// The links on which other machines are known, as answer to a question for those.
  case neighbours([Int32])

  /// The rules, if this is the answer to a question for those.
  var rules: [RoutingRule] { if case .rules(let rules) = self { rules } else { [] } }

  /// The ways, if the answer leads anywhere.
  package var hops: [RouteHop] {
    switch self {
    case .hop(let hop): [hop]
    case .hops(let hops): hops
    case .noRoute, .refused, .own, .rules, .hostRoutes, .neighbours: []
    }
  }

  /// This answer without the next hops that the kernel does not use.
  package var withoutDeadHops: RouteAnswer {
    guard case .hops(let hops) = self else { return self }
    let used = hops.filter { !$0.isDead }
    return used.isEmpty ? .noRoute : .hops(used)
  }

  /// Whether the answer leads anywhere.
  var isWay: Bool { !hops.isEmpty }
}

/// A rule that chooses the routing table (`ip rule`).
package struct RoutingRule: Hashable, Sendable {
  /// A network by its address and the length of its prefix.
  package struct Source: Hashable, Sendable {
    package let address: InternetAddress
    package let prefixLength: UInt8

    package init(address: InternetAddress, prefixLength: UInt8) {
      self.address = address
      self.prefixLength = prefixLength
    }

    func contains(_ other: InternetAddress) -> Bool { address.shares(prefixLength, with: other) }
  }

  package static let mainTable: UInt32 = 254
  package static let defaultTable: UInt32 = 253
  package static let localTable: UInt32 = 255

  // FR_ACT_* of <linux/fib_rules.h>: the actions that end the way.
  package static let blackhole: UInt8 = 6
  package static let unreachable: UInt8 = 7
  package static let prohibit: UInt8 = 8

  package var priority: UInt32 = 0
  /// The table to look in. Nil if the action looks no route up: unreachable, blackhole, goto.
  package var table: UInt32?
  /// FR_ACT_* of <linux/fib_rules.h>.
  package var action: UInt8 = 0
  package var mark: UInt32 = 0
  package var markMask: UInt32 = .max
  package var isInverted = false
  /// Only routes with a longer prefix count; nil if all do. With 0 no default route counts.
  package var suppressedPrefixLength: Int32?
  /// The users that the rule is for; nil for all.
  package var users: ClosedRange<UInt32>?
  /// The network that the packets come from; nil for all.
  package var source: Source?
  /// Whether the rule also selects by something that cannot be judged here: incoming link, port, protocol.
  package var hasOtherSelectors = false

  package init() {}

  /// Returns whether the rule may treat packets from an address unlike those without one.
  func selects(_ source: InternetAddress) -> Bool { self.source.map { $0.contains(source) } ?? false }

  package var forbids: Bool { [Self.blackhole, Self.unreachable, Self.prohibit].contains(action) }
}
