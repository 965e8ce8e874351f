import Netwatch
import NetwatchTestSupport

/// A kernel with a few links, and the truth about it, worked out by brute force.
///
/// It behaves as Linux does where that matters: IPv4 routes vanish without a word, IPv6 routes and addresses with one;
/// removals may be told before they are done; routes over dead links stay; links that stand on others are told of late.
struct ModelKernel {
  struct Address: Equatable {
    var ip: IPAddress
    var isTentative = false
    var isDeprecated = false
    var flags: UInt32 {
      0x80 | (isTentative ? InterfaceAddress.Flags.tentative : 0)
        | (isDeprecated ? InterfaceAddress.Flags.deprecated : 0)
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
    /// Empty: it refuses.
    var hops: [Int32]
  }

  var links: [Int32: Link] = [:]
  var routes: [Route] = []

  // MARK: Truth

  struct Truth: Equatable, CustomStringConvertible {
    var ipv4: (link: Int32, source: IPAddress)?
    var ipv6: (link: Int32, source: IPAddress)?
    var link: Int32? { ipv4?.link ?? ipv6?.link }
    static func == (one: Truth, other: Truth) -> Bool { one.description == other.description }
    var description: String { "\(String(describing: ipv4)) \(String(describing: ipv6))" }
  }

  func truth(includes: (String) -> Bool) -> Truth {
    Truth(ipv4: way(.ipv4, includes), ipv6: way(.ipv6, includes))
  }

  private func way(_ family: AddressFamily, _ includes: (String) -> Bool) -> (link: Int32, source: IPAddress)? {
    guard let route = best(family, over: nil), let chosen = route.hops.first, let link = links[chosen] else {
      return nil
    }
    if includes(link.name) {
      if carries(chosen) {
        return source(family, on: chosen).flatMap { isGlobal($0) ? (chosen, $0) : nil } ?? other(route)
      }
      return other(route)
    }
    let ways = links.keys.filter { includes(links[$0]?.name ?? "") && carries($0) }.compactMap { index in
      best(family, over: index).map { (metric: $0.metric, index: index) }
    }
    for way in ways.sorted(by: { ($0.metric, $0.index) < ($1.metric, $1.index) }) {
      if let source = own(family, on: way.index) { return (way.index, source) }
    }
    return nil

    func other(_ route: Route) -> (link: Int32, source: IPAddress)? {
      guard route.hops.count > 1 else { return nil }
      for hop in route.hops where carries(hop) && includes(links[hop]?.name ?? "") {
        if let source = own(family, on: hop) { return (hop, source) }
      }
      return nil
    }
  }

  /// What the link can do for its bearer, whatever it says of itself.
  func carries(_ index: Int32) -> Bool {
    guard let link = links[index], link.isOn, index != 1 else { return false }
    if link.kind == "bridge" { return links.values.contains { $0.master == index && carries($0.index) } }
    return carrier(of: link) && !link.isDormant
  }

  private func carrier(of link: Link) -> Bool {
    guard let lower = link.lower else { return link.hasCarrier }
    return links[lower].map { $0.isOn && carrier(of: $0) } ?? false
  }

  private func own(_ family: AddressFamily, on index: Int32) -> IPAddress? {
    let usable = (links[index]?.addresses ?? []).filter {
      $0.ip.family == family && !$0.isTentative && isGlobal($0.ip)
    }
    return (usable.first { !$0.isDeprecated } ?? usable.first)?.ip
  }

  private func isGlobal(_ address: IPAddress) -> Bool {
    !address.description.hasPrefix("fe80") && address != .ip("::1") && address != .ip("127.0.0.1")
      && !address.description.hasPrefix("169.254")
  }

  // MARK: What the kernel answers

  private func best(_ family: AddressFamily, over index: Int32?) -> Route? {
    routes.filter { $0.family == family && (index.map($0.hops.contains) ?? true) }
      .min { ($0.metric, $0.hops.first ?? 0) < ($1.metric, $1.hops.first ?? 0) }
  }

  private func source(_ family: AddressFamily, on index: Int32) -> IPAddress? {
    let others = links.keys.sorted().filter { $0 != index }
    for link in [index] + others {
      let found = links[link]?.addresses.first { $0.ip.family == family && !$0.isTentative && isGlobal($0.ip) }
      if let found { return found.ip }
    }
    return family == .ipv6 ? .ip("::1") : nil
  }

  func answer(_ request: RouteRequest) -> RouteAnswer {
    switch request.scope {
    case .plain:
      guard let route = best(request.family, over: nil) else { return .noRoute }
      guard let hop = route.hops.first else { return .refused }
      return .via(hop, nil, from: source(request.family, on: hop), metric: route.metric)
    case .allHops:
      guard let route = best(request.family, over: nil) else { return .noRoute }
      return route.hops.isEmpty ? .refused : answer(route)
    case .link(let index):
      return best(request.family, over: index).map(answer) ?? .noRoute
    case .marked, .remote: return .noRoute
    case .rules: return .rules([])
    }
  }

  private func answer(_ route: Route) -> RouteAnswer {
    let hops = route.hops.map { RouteHop(interfaceIndex: $0, metric: route.metric) }
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
      for scope in [.plain, .allHops] + links.keys.map(RouteRequest.Scope.link) {
        let request = RouteRequest(family, scope)
        result[request] = answer(request)
      }
    }
    return result
  }
}
