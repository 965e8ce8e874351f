/// The kernel's answers so far. They are kept until something happens that could change them.
package struct RouteAnswers: Sendable {
  /// The two answers that nearly every judgement needs, usually the only ones. Not a generic pair, which would go through the
  /// runtime's tables.
  private var plainIPv4: RouteAnswer?
  private var plainIPv6: RouteAnswer?
  /// The answers about the last addresses that stand for the internet, used if the first ones have no route.
  private var lastIPv4: RouteAnswer?
  private var lastIPv6: RouteAnswer?
  private var others: [(request: RouteRequest, answer: RouteAnswer)] = []
  /// Whether a question was about what carries a tunnel. Stored, because computing it would copy the answers.
  private(set) var lookBeneathTunnels = false
  /// The answers about routes to single addresses. Kept longer, because each costs a listing of routes.
  private var hostRoutes: [(request: RouteRequest, answer: RouteAnswer)] = []

  package init() {}

  package subscript(request: RouteRequest) -> RouteAnswer? {
    if case .plain = request.scope {
      if request.destination == 0 { return request.family == .ipv4 ? plainIPv4 : plainIPv6 }
      if request.isForLastStandIn { return request.family == .ipv4 ? lastIPv4 : lastIPv6 }
    }
    if case .hostRoute = request.scope { return hostRoutes.first { $0.request == request }?.answer }
    return others.first { $0.request == request }?.answer
  }

  mutating func keep(_ answer: RouteAnswer, to request: RouteRequest) {
    if case .plain = request.scope, request.destination == 0 {
      if request.family == .ipv4 { plainIPv4 = answer } else { plainIPv6 = answer }
    } else if case .plain = request.scope, request.isForLastStandIn {
      if request.family == .ipv4 { lastIPv4 = answer } else { lastIPv6 = answer }
    } else if case .hostRoute = request.scope {
      hostRoutes.append((request, answer))
    } else {
      others.append((request, answer))
      lookBeneathTunnels = lookBeneathTunnels || request.isBeneath
    }
  }

  mutating func forgetHostRoutes() { hostRoutes = [] }

  mutating func forget(_ families: AddressFamilies) {
    if families.contains(.ipv4) { (plainIPv4, lastIPv4) = (nil, nil) }
    if families.contains(.ipv6) { (plainIPv6, lastIPv6) = (nil, nil) }
    guard !others.isEmpty else { return }
    others.removeAll { families.contains($0.request.family) }
    lookBeneathTunnels = others.contains { $0.request.isBeneath }
  }
}

/// A question to the kernel: which way would a packet leave?
package struct RouteRequest: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    /// The way for any program of this user.
    case plain
    /// The route itself with all its next hops, not the single hop that a hash chooses.
    case allHops
    /// The route itself again, for the time at which it ends.
    case lifetime
    /// The way as if this link were the only one. Also asks for the route itself, because IPv4 would otherwise answer "on the
    /// link" without any route.
    case link(Int32)
    /// The way for packets with this mark, such as those that a tunnel itself sends.
    case marked(UInt32)
    /// The way to the other end of this tunnel.
    case remote(tunnel: Int32)
    /// The rules that choose the table; no way.
    case rules
    /// The way to the source that the plain lookup has named: tells whether it is this machine's own.
    case source
    /// A route to a single address, with a gateway, that somebody has written for this link; no way. VPN clients write such a
    /// route to their server.
    case hostRoute(Int32)
  }

  package let family: AddressFamily
  package let scope: Scope
  /// The position among the target's addresses of this family. Negative for questions about what carries a tunnel.
  package let destination: Int8

  /// The destination of a question about what carries a tunnel: the first of ``Destinations/internet``, not the target.
  package static let internet: Int8 = -1

  /// Returns the destination for the address of ``Destinations/internet`` at a position, as for what carries a tunnel.
  package static func internet(_ standIn: Int8) -> Int8 { internet - standIn }

  /// Whether the question is about the DNS root server, if its destinations are those of ``Destinations/internet``.
  package var isForLastStandIn: Bool {
    destination == Destinations.lastStandIn(family)
  }

  /// Whether the question is about what carries a tunnel.
  package var isBeneath: Bool { destination < 0 }

  var isForHostRoute: Bool { if case .hostRoute = scope { true } else { false } }

  /// The position among the target's addresses, or among ``Destinations/internet``.
  package var position: Int { Int(isBeneath ? Self.internet - destination : destination) }

  package init(_ family: AddressFamily, _ scope: Scope = .plain, to destination: Int8 = 0) {
    self.family = family
    self.scope = scope
    self.destination = destination
  }
}

/// One way out of this machine.
package struct RouteHop: Hashable, Sendable {
  // In this order the value has 56 bytes, which are copied several times for each event. The small properties lie in the gaps
  // behind addresses.
  package var gateway: IPAddress?
  /// The length of the route's prefix, in answers that are the route itself. 0 for a default route.
  package var prefixLength: UInt8
  /// The writer of the route: RTPROT_* of <linux/rtnetlink.h>.
  package var origin: UInt8
  package var interfaceIndex: Int32
  /// The metric of the route; lower is better.
  package var metric: UInt32
  /// The routing table that has the route.
  package var table: UInt32
  /// The source address. Nil if the kernel names none, as for a question for the route itself.
  package var source: IPAddress?
  /// The time until the route ends, in hundredths of a second, in answers that are the route itself. 0 if the route does not
  /// end.
  package var lifetime: UInt32 = 0

  package init(
    interfaceIndex: Int32, gateway: IPAddress? = nil, source: IPAddress? = nil, metric: UInt32 = 0,
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

/// The kernel's answer to a ``RouteRequest``.
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
}

/// A rule that chooses the routing table (`ip rule`).
package struct RoutingRule: Hashable, Sendable {
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
  /// Whether the rule also selects by something that cannot be judged here: source, incoming link, port, protocol.
  package var hasOtherSelectors = false

  package init() {}

  package var forbids: Bool { [Self.blackhole, Self.unreachable, Self.prohibit].contains(action) }
}
