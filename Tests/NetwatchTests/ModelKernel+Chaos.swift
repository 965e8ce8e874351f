import Netwatch
import NetwatchTestSupport

extension ModelKernel {
  /// The links that may come and go: two cards, a modem, a bridge, a vlan on the first card, and a tunnel.
  static let kinds: [Int32: (name: String, kind: String?, lower: Int32?)] = [
    2: ("eth0", nil, nil), 3: ("eth1", nil, nil), 4: ("wwan0", "wwan", nil), 5: ("br0", "bridge", nil),
    6: ("eth0.5", "vlan", 2), tunnel: ("wg0", "wireguard", nil),
  ]

  /// Makes a random change, and returns the messages that the kernel sends about it.
  mutating func change(_ random: inout SplitMix) -> [NetworkEvent] {
    let index = Int32.random(in: 2...Self.tunnel, using: &random)
    if random.oneIn(24) { return setUpTunnel() }
    guard var link = links[index] else { return create(index) }
    switch Int.random(in: 0..<12, using: &random) {
    case 0: return remove(index)
    case 1, 2: return link.isOn ? switchOff(index) : set(index) { $0.isOn = true }
    case 3 where link.lower == nil && link.kind != "bridge": return set(index) { $0.hasCarrier.toggle() }
    case 4 where link.lower == nil && link.kind != "bridge": return set(index) { $0.hasCarrier = true }
    case 5 where link.kind != "bridge": return set(index) { $0.isDormant.toggle() }
    case 6 where link.kind == nil: return set(index) { $0.master = $0.master == nil ? 5 : nil }
    case 7 where index == 3: return set(index) { $0.name = $0.name == "eth1" ? "lan1" : "eth1" }
    case 8 where index == Self.tunnel && hasTunnelRule: return removeTunnelRule()
    case 8, 9: return changeAddress(&link, &random)
    default: return changeRoute(&random)
    }
  }

  private mutating func create(_ index: Int32) -> [NetworkEvent] {
    guard let (name, kind, lower) = Self.kinds[index], lower.map({ links[$0] != nil }) ?? true else { return [] }
    links[index] = Link(index: index, name: name, kind: kind, lower: lower)
    return [fact(index)].compactMap { $0 }
  }

  private mutating func set(_ index: Int32, _ body: (inout Link) -> Void) -> [NetworkEvent] {
    guard var link = links[index] else { return [] }
    body(&link)
    if let master = link.master, links[master] == nil { link.master = nil }
    links[index] = link
    // The kernel sends no message about a link on top of this one. A program that needs its state has to read it.
    return [fact(index)].compactMap { $0 }
  }

  private mutating func remove(_ index: Int32) -> [NetworkEvent] {
    var events = switchOff(index)
    for other in links.keys.sorted() where links[other]?.lower == index { events += remove(other) }
    for other in links.keys.sorted() where links[other]?.master == index { events += set(other) { $0.master = nil } }
    for address in links[index]?.addresses ?? [] { events.append(.noAddress(index, address.ip)) }
    links[index] = nil
    return events + [.linkRemoved(index: index)]
  }

  private mutating func switchOff(_ index: Int32) -> [NetworkEvent] {
    var events = set(index) { $0.isOn = false }
    events += removeRoutes { $0.contains(index) }
    for address in links[index]?.addresses ?? [] where address.ip.family == .ipv6 {
      events.append(.noAddress(index, address.ip))
    }
    links[index]?.addresses.removeAll { $0.ip.family == .ipv6 }
    return events
  }

  /// Removes routes. The kernel sends no message about removed IPv4 routes.
  private mutating func removeRoutes(where isDead: ([Int32]) -> Bool) -> [NetworkEvent] {
    let dead = routes.filter { isDead($0.hops) }
    routes.removeAll { isDead($0.hops) }
    return dead.filter { $0.family == .ipv6 }.map { _ in .routing(.ipv6, isRemoval: true) }
  }

  private mutating func changeAddress(_ link: inout Link, _ random: inout SplitMix) -> [NetworkEvent] {
    let number = Int.random(in: 1...2, using: &random)
    let texts = ["10.\(link.index).0.\(number)", "2001:db8:\(link.index)::\(number)", "fe80::\(link.index)"]
    let ip = InternetAddress.ip(texts[Int.random(in: 0..<3, using: &random)])
    if ip.family == .ipv6, !link.isOn { return [] }
    defer { links[link.index] = link }
    guard let known = link.addresses.firstIndex(where: { $0.ip == ip }) else {
      let address = Address(ip: ip, isTentative: ip.family == .ipv6 && random.oneIn(2))
      // The kernel lists the newest IPv6 address first, and link-local addresses last.
      let isFirst = ip.family == .ipv6 && isGlobal(ip)
      let place = isFirst ? link.addresses.firstIndex { $0.ip.family == .ipv6 } : nil
      link.addresses.insert(address, at: place ?? link.addresses.endIndex)
      return [.address(link.index, ip, flags: address.flags)]
    }
    if ip.family == .ipv6, random.oneIn(2) {
      if link.addresses[known].isTentative {
        link.addresses[known].isTentative = false
      } else {
        link.addresses[known].isDeprecated.toggle()
      }
      return [.address(link.index, ip, flags: link.addresses[known].flags)]
    }
    link.addresses.remove(at: known)
    return [.noAddress(link.index, ip)]
  }

  /// Sets up the tunnel as wg-quick does: the link, its address, the route in a table of its own, and the rule.
  private mutating func setUpTunnel() -> [NetworkEvent] {
    var events = links[Self.tunnel] == nil ? create(Self.tunnel) : []
    let address = Address(ip: .ip("10.7.0.1"))
    if links[Self.tunnel]?.addresses.contains(address) == false {
      links[Self.tunnel]?.addresses.append(address)
      events.append(.address(Self.tunnel, address.ip, flags: address.flags))
    }
    events += set(Self.tunnel) { ($0.isOn, $0.hasCarrier, $0.isDormant) = (true, true, false) }
    hasTunnelRule = true
    routes.removeAll { $0.table == Self.mark }
    routes.append(Route(family: .ipv4, metric: 0, hops: [Self.tunnel], table: Self.mark))
    return events + [.rules(.ipv4, isRemoval: false)]
  }

  private mutating func removeTunnelRule() -> [NetworkEvent] {
    hasTunnelRule = false
    return [.rules(.ipv4, isRemoval: true)]
  }

  private mutating func changeRoute(_ random: inout SplitMix) -> [NetworkEvent] {
    let family: AddressFamily = random.oneIn(2) ? .ipv4 : .ipv6
    if random.oneIn(3), let position = routes.firstIndex(where: { $0.family == family && $0.table != Self.mark }) {
      routes.remove(at: position)
      return [.routing(AddressFamilies(family), isRemoval: true)]
    }
    let usable = links.keys.sorted().filter { links[$0]?.isOn == true && $0 != 1 }
    let count = random.oneIn(8) ? 0 : Int.random(in: 1...2, using: &random)
    let hops = Array(usable.shuffled(using: &random).prefix(count))
    guard count == 0 || !hops.isEmpty else { return [] }
    let metric = UInt32.random(in: 1...6, using: &random) * 100
    routes.removeAll { $0.family == family && $0.metric == metric && $0.table != Self.mark }
    routes.append(Route(family: family, metric: metric, hops: hops))
    return [.routing(AddressFamilies(family), isRemoval: false)]
  }
}
