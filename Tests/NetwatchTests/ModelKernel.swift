import Netwatch
import NetwatchTestSupport

/// A model of a kernel with a few links, and the truth about its paths, which is worked out by brute force.
///
/// The model behaves as Linux does in what matters here. IPv4 routes vanish without a message; IPv6 routes and
/// addresses vanish with one. A removal may be announced before it is done. Routes over dead links stay. A change of a
/// link that stands on another one is announced late. A rule of wg-quick gives the tunnel's own packets another way
/// than all other packets.
struct ModelKernel {
  struct Address: Equatable {
    var ip: InternetAddress
    var isTentative = false
    var isDeprecated = false
    var flags: UInt32 {
      0x80 | (isTentative ? InterfaceAddress.tentativeFlag : 0)
        | (isDeprecated ? InterfaceAddress.deprecatedFlag : 0)
    }
  }

  struct Link: Equatable {
    let index: Int32
    var name: String
    var kind: String?
    var isOn = false
    var hasCarrier = true
    var isDormant = false
    var master: Int32?
    var lower: Int32?
    var addresses: [Address] = []
  }

  struct Route: Equatable {
    let family: AddressFamily
    let metric: UInt32
    /// The links of the next hops. An empty list means that the route refuses packets.
    var hops: [Int32]
    var table = RoutingRule.mainTable
  }

  /// The number of the tunnel's link. The number of the tunnel's mark and of its table is `mark`.
  static let tunnel: Int32 = 7
  static let mark: UInt32 = 51820

  var links: [Int32: Link] = [:]
  var routes: [Route] = []
  /// Whether the rule exists that leads IPv4 into the tunnel's table, except packets with the tunnel's mark.
  var hasTunnelRule = false

  // MARK: Truth

  typealias Way = (link: Int32, source: InternetAddress)

  struct Truth: Equatable, CustomStringConvertible {
    var ipv4: Way?
    var ipv6: Way?
    /// The link beneath the tunnel, or the link of the path if there is no tunnel.
    var carrier: Int32?
    var tunnel: Int32? { (ipv4 ?? ipv6).flatMap { $0.link == ModelKernel.tunnel ? $0.link : nil } }
    static func == (one: Truth, other: Truth) -> Bool {
      func isSame(_ one: Way?, _ other: Way?) -> Bool { one?.link == other?.link && one?.source == other?.source }
      return isSame(one.ipv4, other.ipv4) && isSame(one.ipv6, other.ipv6) && one.carrier == other.carrier
    }
    var description: String {
      "\(String(describing: ipv4)) \(String(describing: ipv6)) over \(String(describing: carrier))"
    }
  }

  func truth(includes: (String) -> Bool) -> Truth {
    var truth = Truth()
    for family in [AddressFamily.ipv6, .ipv4] {
      guard let (way, table) = way(family, includes) else { continue }
      let carrier = way.link == Self.tunnel ? carrier(ofTunnelIn: table) : way.link
      guard let carrier else { continue }
      if family == .ipv4 { truth.ipv4 = way } else { truth.ipv6 = way }
      truth.carrier = carrier
    }
    return truth
  }

  /// Returns the link by which the tunnel's own packets leave. If a rule leads into the tunnel's table, this is the way
  /// of packets with the tunnel's mark. Otherwise, it is the best route over another link, or if there is no such
  /// route, the only link that could carry the tunnel. Returns the tunnel if several links could carry it, and nil if
  /// none can.
  private func carrier(ofTunnelIn table: UInt32) -> Int32? {
    guard table == RoutingRule.mainTable else {
      for family in AddressFamily.allCases {
        if let hop = route(family, isMarked: true)?.hops.first, hop != Self.tunnel, carries(hop),
          source(family, on: hop).map(isGlobal) == true
        {
          return hop
        }
      }
      return nil
    }
    let uplinks = links.values.filter { $0.isOn && $0.master == nil && $0.index != Self.tunnel && $0.index != 1 }
    var hasRoute = false
    for family in AddressFamily.allCases {
      let ways = uplinks.compactMap { link in
        route(family, over: link.index).map { (metric: $0.metric, index: link.index) }
      }
      for way in ways.sorted(by: <) {
        hasRoute = true
        // The kernel does not go on to another route because a link is dead.
        guard carries(way.index) else { break }
        if own(family, on: way.index) != nil { return way.index }
      }
    }
    if hasRoute { return nil }
    let able = uplinks.filter { link in
      carries(link.index) && link.addresses.contains { !$0.isTentative && isGlobal($0.ip) }
    }
    return able.count > 1 ? Self.tunnel : able.first?.index
  }

  private func way(_ family: AddressFamily, _ includes: (String) -> Bool) -> (way: Way, table: UInt32)? {
    guard let route = self.route(family), let chosen = route.hops.first, let link = links[chosen] else {
      return nil
    }
    if includes(link.name) {
      if carries(chosen) {
        if let source = source(family, on: chosen), isGlobal(source) { return ((chosen, source), route.table) }
      }
      return other(route)
    }
    return best(family, of: links.keys.filter { includes(links[$0]?.name ?? "") && carries($0) })

    func other(_ route: Route) -> (way: Way, table: UInt32)? {
      guard route.hops.count > 1 else { return nil }
      for hop in route.hops where carries(hop) && includes(links[hop]?.name ?? "") {
        if let source = borrowed(family, on: hop) { return ((hop, source), route.table) }
      }
      return nil
    }
  }

  private func best(_ family: AddressFamily, of links: [Int32]) -> (way: Way, table: UInt32)? {
    let ways = links.compactMap { index in route(family, over: index).map { (route: $0, index: index) } }
    for (route, index) in ways.sorted(by: { ($0.route.metric, $0.index) < ($1.route.metric, $1.index) }) {
      if let source = own(family, on: index) { return ((index, source), route.table) }
    }
    return nil
  }

  /// Returns the link's own address, or that of another link if the link has none.
  private func borrowed(_ family: AddressFamily, on index: Int32) -> InternetAddress? {
    own(family, on: index) ?? links.keys.sorted().lazy.compactMap { own(family, on: $0) }.first
  }

  /// Returns whether the link can carry packets, whatever the kernel says about its state.
  func carries(_ index: Int32) -> Bool {
    guard let link = links[index], link.isOn, index != 1 else { return false }
    if link.kind == "bridge" { return links.values.contains { $0.master == index && carries($0.index) } }
    return carrier(of: link) && !link.isDormant
  }

  private func carrier(of link: Link) -> Bool {
    guard let lower = link.lower else { return link.hasCarrier }
    return links[lower].map { $0.isOn && carrier(of: $0) } ?? false
  }

  private func own(_ family: AddressFamily, on index: Int32) -> InternetAddress? {
    let usable = (links[index]?.addresses ?? []).filter {
      $0.ip.family == family && !$0.isTentative && isGlobal($0.ip)
    }
    let preferred = usable.filter { !$0.isDeprecated }
    return (preferred.isEmpty ? usable : preferred).map(\.ip).min { one, other in
      if case (.v6(let one), .v6(let other)) = (one, other) { one < other } else { false }
    }
  }

  func isGlobal(_ address: InternetAddress) -> Bool {
    switch address {
    case .v4(let bits): bits >> 16 != 0xa9fe && bits != 0x7f00_0001
    case .v6(let bits): bits >> 112 != 0xfe80 && bits != 1
    }
  }

  // MARK: What the kernel answers

  private func route(_ family: AddressFamily, over index: Int32? = nil, isMarked: Bool = false) -> Route? {
    let tables = (hasTunnelRule && family == .ipv4 && !isMarked ? [Self.mark] : []) + [RoutingRule.mainTable]
    for table in tables {
      let found = routes.filter { $0.family == family && $0.table == table && (index.map($0.hops.contains) ?? true) }
        .min { ($0.metric, $0.hops.first ?? 0) < ($1.metric, $1.hops.first ?? 0) }
      if let found { return found }
    }
    return nil
  }

  private func source(_ family: AddressFamily, on index: Int32) -> InternetAddress? {
    let others = links.keys.sorted().filter { $0 != index }
    for link in [index] + others {
      let found = links[link]?.addresses.first { $0.ip.family == family && !$0.isTentative && isGlobal($0.ip) }
      if let found { return found.ip }
    }
    return family == .ipv6 ? .ip("::1") : nil
  }

  func answer(_ request: RouteRequest) -> RouteAnswer {
    switch request.scope {
    case .plain, .marked:
      guard let route = self.route(request.family, isMarked: request.scope != .plain) else { return .noRoute }
      guard let hop = route.hops.first else { return .refused }
      return .via(hop, nil, from: source(request.family, on: hop), metric: route.metric, table: route.table)
    case .allHops:
      guard let route = self.route(request.family) else { return .noRoute }
      return route.hops.isEmpty ? .refused : answer(route)
    case .link(let index):
      return route(request.family, over: index).map(answer) ?? .noRoute
    case .remote, .lifetime, .source, .hostRoutes, .way, .from: return .noRoute
    case .neighbours: return .neighbours([])
    case .rules: return .rules(hasTunnelRule && request.family == .ipv4 ? RoutingRule.wgQuick : RoutingRule.standard)
    }
  }

  private func answer(_ route: Route) -> RouteAnswer {
    let hops = route.hops.map { RouteHop(interfaceIndex: $0, metric: route.metric, table: route.table) }
    return hops.count == 1 ? .hop(hops[0]) : .hops(hops)
  }

  // MARK: What the kernel tells

  func fact(_ index: Int32) -> NetworkEvent? {
    guard let link = links[index] else { return nil }
    if index == 1 { return .loopback }
    let state: LinkState =
      !link.isOn
      ? .down : !carrier(of: link) ? .noCarrier : link.isDormant ? .dormant : link.kind == nil ? .up : .unknown
    return .link(index, link.name, state, kind: link.kind, master: link.master, lower: link.lower)
  }

  func facts(of link: Link) -> [NetworkEvent] {
    link.addresses.map { .address(link.index, $0.ip, 24, flags: $0.flags) }
  }

  var listing: [NetworkEvent] {
    let order = links.keys.sorted()
    return order.compactMap(fact) + order.compactMap { links[$0] }.flatMap(facts)
  }

  var answers: [RouteRequest: RouteAnswer] {
    var result: [RouteRequest: RouteAnswer] = [:]
    for family in AddressFamily.allCases {
      for scope in [RouteRequest.Scope.plain, .allHops] {
        let request = RouteRequest(family, scope)
        result[request] = answer(request)
      }
      for scope in [RouteRequest.Scope.rules, .marked(Self.mark)] {
        let request = RouteRequest.beneath(family, scope)
        result[request] = answer(request)
      }
      // If a question names a link, a tunnel's own packets take the same way as all others.
      for scope in links.keys.map(RouteRequest.Scope.link) {
        let answer = answer(RouteRequest(family, scope))
        result[RouteRequest(family, scope)] = answer
        result[.beneath(family, scope)] = answer
      }
    }
    return result
  }
}
