import CLibNetlink
import Netwatch

/// Decodes rtnetlink messages into facts and responses, in place and without allocating.
///
/// A message that is too short, or that gives a wrong length, is left out; the following messages are still read.
package enum NetlinkDecoder {
  package enum Message: Hashable {
    case event(NetworkEvent)
    case route(RouteAnswer)
    /// A route that uses a next-hop object, with the number of the object.
    case routeOverNextHop(UInt32, RouteHop)
    case nextHop(NextHopObject)
    case rule(RoutingRule)
    case ignored
  }

  /// The meaning of a route message: a notification that something changed, or the response to a request.
  package enum Context { case notification, answer }

  package static func message(_ frame: NetlinkMessage, _ bytes: RawSpan, as context: Context) -> Message {
    let payload = frame.payload
    if context == .notification, let hint = hint(frame, bytes) { return hint }
    switch Int(frame.type) {
    case RTM_NEWLINK: return link(bytes, payload, isRemoved: false)
    case RTM_DELLINK: return link(bytes, payload, isRemoved: true)
    case RTM_NEWADDR: return address(bytes, payload, isRemoved: false)
    case RTM_DELADDR: return address(bytes, payload, isRemoved: true)
    case RTM_NEWROUTE where context == .answer: return route(bytes, payload)
    case RTM_NEWRULE where context == .answer: return rule(bytes, payload)
    case RTM_NEWNEXTHOP where context == .answer: return nextHop(bytes, payload)
    case RTM_NEWNEIGH where context == .notification: return neighbour(bytes, payload)
    case RTM_DELNEIGH where context == .notification: return removedNeighbour(bytes, payload)
    case RTM_NEWNETCONF: return netconf(bytes, payload)
    default: return .ignored
    }
  }

  // MARK: Links

  /// struct ifinfomsg: family, padding, type (2), index (4), flags (4), change (4).
  private static let linkHeaderLength = 16

  private static func link(_ bytes: RawSpan, _ payload: Range<Int>, isRemoved: Bool) -> Message {
    guard payload.count >= linkHeaderLength else { return .ignored }
    let start = payload.lowerBound
    // A bridge reports its ports under its own family. There, "removed" means that the link is no longer a port.
    guard bytes.load(start, as: UInt8.self) == UInt8(AF_UNSPEC) else { return .ignored }
    let index = bytes.load(start + 4, as: Int32.self)
    guard index > 0 else { return .ignored }
    if isRemoved { return .event(.linkRemoved(index: index)) }

    var fact = LinkUpdate(
      index: index, flags: bytes.load(start + 8, as: UInt32.self), hardwareType: bytes.load(start + 2, as: UInt16.self))
    bytes.forEachAttribute(in: (start + linkHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case IFLA_IFNAME: fact.name = InterfaceName(bytes.extracting(value))
      case IFLA_OPERSTATE:
        fact.operationalState = bytes.number(value, as: UInt8.self).flatMap(OperationalState.init)
        fact.isComplete = true
      case IFLA_CARRIER_DOWN_COUNT: fact.carrierLosses = bytes.number(value, as: UInt32.self)
      case IFLA_MASTER: fact.masterIndex = bytes.number(value, as: Int32.self)
      case IFLA_LINK: fact.lowerIndex = bytes.number(value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case IFLA_LINK_NETNSID: fact.isCarriedElsewhere = true
      case IFLA_LINKINFO: readInfo(bytes, value, into: &fact)
      case IFLA_ADDRESS: fact.hardwareAddress = hardwareAddress(bytes, value)
      default: break
      }
    }
    if fact.isCarriedElsewhere { (fact.lowerIndex, fact.remote) = (nil, nil) }
    return .event(.link(fact))
  }

  private static func hardwareAddress(_ bytes: RawSpan, _ range: Range<Int>) -> UInt64 {
    range.prefix(8).reduce(0) { $0 << 8 | UInt64(bytes.load($1, as: UInt8.self)) }
  }

  /// Reads IFLA_LINKINFO: the driver's kind of a software link, and the data of that driver.
  private static func readInfo(_ bytes: RawSpan, _ info: Range<Int>, into fact: inout LinkUpdate) {
    var data: Range<Int>?
    bytes.forEachAttribute(in: info) { type, value in
      switch type {
      case IFLA_INFO_KIND: fact.kind = bytes.text(value)
      case IFLA_INFO_DATA: data = value
      default: break
      }
    }
    guard let data, let kind = fact.kind else { return }
    let known = attributes(of: kind)
    guard known.port != nil || known.remote4 != nil || known.remote6 != nil else { return }
    bytes.forEachAttribute(in: data) { type, value in
      switch type {
      case known.lower: fact.lowerIndex = bytes.number(value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case known.port: fact.activePortIndex = bytes.number(value, as: Int32.self)
      case known.remote4: remote(ipAddress(bytes, value, family: AddressFamily.ipv4.number))
      case known.remote6: remote(ipAddress(bytes, value, family: AddressFamily.ipv6.number))
      default: break
      }
    }

    /// A tunnel without a fixed other end, or to a group, has no remote address.
    func remote(_ address: InternetAddress?) {
      if let address, !address.isUnspecified, !address.isMulticast { fact.remote = address }
    }
  }

  /// Returns the attributes of IFLA_INFO_DATA that matter for a kind: a bond's active port, the link beneath if IFLA_LINK does
  /// not have it, and the other end of a tunnel.
  private static func attributes(of kind: String) -> (port: Int?, lower: Int?, remote4: Int?, remote6: Int?) {
    switch kind {
    case "bond": (IFLA_BOND_ACTIVE_SLAVE, nil, nil, nil)
    case "ipip", "sit": (nil, nil, IFLA_IPTUN_REMOTE, nil)
    case "ip6tnl": (nil, nil, nil, IFLA_IPTUN_REMOTE)
    case "gre", "gretap", "erspan": (nil, nil, IFLA_GRE_REMOTE, nil)
    case "ip6gre", "ip6gretap", "ip6erspan": (nil, nil, nil, IFLA_GRE_REMOTE)
    case "vti": (nil, nil, IFLA_VTI_REMOTE, nil)
    case "vti6": (nil, nil, nil, IFLA_VTI_REMOTE)
    case "vxlan": (nil, IFLA_VXLAN_LINK, IFLA_VXLAN_GROUP, IFLA_VXLAN_GROUP6)
    case "geneve": (nil, nil, IFLA_GENEVE_REMOTE, IFLA_GENEVE_REMOTE6)
    default: (nil, nil, nil, nil)
    }
  }

  // MARK: Routes

  /// struct rtmsg: family, dst_len, src_len, tos, table, protocol, scope, type, flags (4).
  private static let routeHeaderLength = 12
  /// struct rtnexthop: length (2), flags, hops, interface (4).
  private static let hopHeaderLength = 8

  static func route(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard payload.count >= routeHeaderLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    switch Int(bytes.load(start + 7, as: UInt8.self)) {
    case RTN_UNICAST: break
    case RTN_LOCAL, RTN_ANYCAST: return .route(.own)
    // An IPv6 route that refuses is sent as a route; for IPv4 the response is an error.
    default: return .route(.refused)
    }

    var hop = RouteHop(
      interfaceIndex: 0, prefixLength: bytes.load(start + 1, as: UInt8.self),
      origin: bytes.load(start + 5, as: UInt8.self))
    hop.scope = bytes.load(start + 6, as: UInt8.self)
    hop.isDead = Int32(bitPattern: bytes.load(start + 8, as: UInt32.self)) & RTNH_F_DEAD != 0
    var hops: [RouteHop] = []
    var nextHop: UInt32 = 0
    bytes.forEachAttribute(in: (start + routeHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case Int(RTA_MULTIPATH.rawValue): hops = self.hops(bytes, value, family: family)
      case Int(RTA_PREFSRC.rawValue):
        hop.source = ipAddress(bytes, value, family: family)
      case Int(RTA_TABLE.rawValue): hop.table = bytes.number(value, as: UInt32.self) ?? hop.table
      case Int(RTA_NH_ID.rawValue): nextHop = bytes.number(value, as: UInt32.self) ?? 0
      case Int(RTA_CACHEINFO.rawValue): hop.lifetime = lifetime(bytes, value)
      case Int(RTA_PRIORITY.rawValue): hop.metric = bytes.number(value, as: UInt32.self) ?? 0
      default: read(type, value, into: &hop, bytes, family: family)
      }
    }
    guard hops.isEmpty else {
      for position in hops.indices {
        hops[position].source = hop.source
        hops[position].scope = hop.scope
        hops[position].metric = hop.metric
        hops[position].table = hop.table
        hops[position].prefixLength = hop.prefixLength
        hops[position].origin = hop.origin
        hops[position].lifetime = hop.lifetime
      }
      return .route(.hops(hops))
    }
    // With net.ipv4.nexthop_compat_mode=0, the response has the number of the object instead of its links and gateways.
    if hop.interfaceIndex <= 0, nextHop > 0 { return .routeOverNextHop(nextHop, hop) }
    return .route(hop.interfaceIndex > 0 ? .hop(hop) : .refused)
  }

  /// Decodes the address or the network that a route leads to; nil for a default route.
  static func destination(_ frame: NetlinkMessage, _ bytes: RawSpan) -> InternetAddress? {
    let payload = frame.payload
    guard payload.count >= routeHeaderLength,
      let value = bytes.attribute(
        Int(RTA_DST.rawValue), in: (payload.lowerBound + routeHeaderLength)..<payload.upperBound)
    else { return nil }
    return ipAddress(bytes, value, family: bytes.load(payload.lowerBound, as: UInt8.self))
  }

  /// Reads struct rta_cacheinfo: two numbers, then the time until the route ends in USER_HZ. 0 means no end; a negative time is
  /// over.
  private static func lifetime(_ bytes: RawSpan, _ range: Range<Int>) -> UInt32 {
    guard range.count >= 12 else { return 0 }
    let ticks = bytes.load(range.lowerBound + 8, as: Int32.self)
    return UInt32(clamping: ticks)
  }

  private static func hops(_ bytes: RawSpan, _ range: Range<Int>, family: UInt8) -> [RouteHop] {
    var hops: [RouteHop] = []
    var cursor = NetlinkCursor(range)
    while cursor.hasRoom(for: hopHeaderLength) {
      let start = cursor.offset
      guard let record = cursor.next(length: Int(bytes.load(start, as: UInt16.self)), header: hopHeaderLength) else {
        break
      }
      var hop = RouteHop(interfaceIndex: bytes.load(start + 4, as: Int32.self))
      hop.isDead = Int32(bytes.load(start + 2, as: UInt8.self)) & RTNH_F_DEAD != 0
      bytes.forEachAttribute(in: (start + hopHeaderLength)..<record.upperBound) { type, value in
        read(type, value, into: &hop, bytes, family: family)
      }
      hops.append(hop)
    }
    return hops
  }

  /// Reads the attributes that a route and each of its hops have in common.
  private static func read(
    _ type: Int, _ value: Range<Int>, into hop: inout RouteHop, _ bytes: RawSpan, family: UInt8
  ) {
    switch type {
    case Int(RTA_OIF.rawValue): hop.interfaceIndex = bytes.number(value, as: Int32.self) ?? 0
    case Int(RTA_GATEWAY.rawValue): hop.gateway = ipAddress(bytes, value, family: family)
    case Int(RTA_VIA.rawValue):
      // struct rtvia: the next hop has another family, which is in the first field.
      guard let other = bytes.number(value, as: UInt16.self) else { return }
      let address = (value.lowerBound + 2)..<value.upperBound
      hop.gateway = ipAddress(bytes, address, family: UInt8(truncatingIfNeeded: other))
    default: break
    }
  }

  static func ipAddress(_ bytes: RawSpan, _ range: Range<Int>, family: UInt8) -> InternetAddress? {
    switch CInt(family) {
    case AF_INET: bytes.number(range, as: UInt32.self).map { .v4(UInt32(bigEndian: $0)) }
    case AF_INET6: bytes.number(range, as: UInt128.self).map { .v6(UInt128(bigEndian: $0)) }
    default: nil
    }
  }

  // MARK: Next hops

  /// struct nhmsg: family, scope, protocol, reserved, flags (4).
  private static let nextHopHeaderLength = 8
  /// struct nexthop_grp: number (4), weight and reserved bytes.
  private static let memberLength = 8

  static func nextHop(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard payload.count >= nextHopHeaderLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    var object = NextHopObject()
    bytes.forEachAttribute(in: (start + nextHopHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case NHA_OIF: object.interfaceIndex = bytes.number(value, as: Int32.self) ?? 0
      case NHA_GATEWAY: object.gateway = ipAddress(bytes, value, family: family)
      case NHA_BLACKHOLE: object.isBlackhole = true
      case NHA_GROUP:
        object.members = stride(
          from: value.lowerBound, through: value.upperBound - memberLength, by: memberLength
        ).map { bytes.load($0, as: UInt32.self) }
      default: break
      }
    }
    return .nextHop(object)
  }
}

/// A next-hop object (`ip nexthop`), or a group of them.
package struct NextHopObject: Hashable, Sendable {
  var interfaceIndex: Int32 = 0
  var gateway: InternetAddress?
  /// The numbers of a group's members.
  var members: [UInt32] = []
  var isBlackhole = false
}

/// Decodes addresses, neighbours, and messages that only hint at a change of the routes.
extension NetlinkDecoder {
  // MARK: Addresses

  /// struct ifaddrmsg: family, prefix length, flags, scope, index (4).
  private static let addressHeaderLength = 8

  static func address(_ bytes: RawSpan, _ payload: Range<Int>, isRemoved: Bool) -> Message {
    guard payload.count >= addressHeaderLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    let prefixLength = bytes.load(start + 1, as: UInt8.self)
    let scope = bytes.load(start + 3, as: UInt8.self)
    let index = bytes.load(start + 4, as: Int32.self)
    // The header has room for eight flags; IFA_FLAGS has them all.
    var flags = UInt32(bytes.load(start + 2, as: UInt8.self))
    var isOver = false
    var local: InternetAddress?
    var peer: InternetAddress?
    bytes.forEachAttribute(in: (start + addressHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case IFA_LOCAL: local = ipAddress(bytes, value, family: family)
      case IFA_ADDRESS: peer = ipAddress(bytes, value, family: family)
      case IFA_FLAGS: flags = bytes.number(value, as: UInt32.self) ?? flags
      // The first field is the preferred lifetime.
      case IFA_CACHEINFO: isOver = bytes.number(value, as: UInt32.self) == 0
      default: break
      }
    }
    // On a point-to-point link, IFA_ADDRESS is the other end.
    guard index > 0, let address = local ?? peer else { return .ignored }
    if isRemoved { return .event(.addressRemoved(index: index, address, prefixLength: prefixLength)) }
    if isOver { flags |= InterfaceAddress.deprecatedFlag }
    return .event(
      .address(
        index: index, InterfaceAddress(address: address, prefixLength: prefixLength, flags: flags, scope: scope)))
  }

  // MARK: Neighbours

  /// struct ndmsg: family, padding (3), index (4), state (2), flags, type.
  private static let neighbourHeaderLength = 12

  static func neighbour(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard let (neighbour, state) = neighbourState(bytes, payload) else { return .ignored }
    switch state {
    case .failed: return .event(.neighbour(neighbour, isDead: true))
    case .reachable, .stale, .permanent: return .event(.neighbour(neighbour, isDead: false))
    // While the kernel looks for the neighbour, its state is not known.
    case .incomplete, .absent: return .ignored
    }
  }

  static func removedNeighbour(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard let (neighbour, _) = neighbourState(bytes, payload) else { return .ignored }
    return .event(.neighbour(neighbour, isDead: false))
  }

  /// Decodes the neighbour of a message, and its state; nil if the message is not about one.
  package static func neighbourState(_ bytes: RawSpan, _ payload: Range<Int>) -> (Neighbour, NeighbourState)? {
    guard payload.count >= neighbourHeaderLength else { return nil }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    let index = bytes.load(start + 4, as: Int32.self)
    guard index > 0, let value = bytes.attribute(NDA_DST, in: (start + neighbourHeaderLength)..<payload.upperBound),
      let address = ipAddress(bytes, value, family: family)
    else { return nil }
    let state: NeighbourState =
      switch Int32(bytes.load(start + 8, as: UInt16.self)) {
      case NUD_FAILED: .failed
      case NUD_REACHABLE: .reachable
      case NUD_STALE, NUD_DELAY, NUD_PROBE: .stale
      case NUD_NOARP, NUD_PERMANENT: .permanent
      case NUD_INCOMPLETE: .incomplete
      default: .absent
      }
    return (Neighbour(interfaceIndex: index, address: address), state)
  }

  // MARK: Hints

  private static func families(_ bytes: RawSpan, _ payload: Range<Int>) -> AddressFamilies {
    guard let family = bytes.number(payload, as: UInt8.self) else { return .none }
    switch CInt(family) {
    case AF_INET: return .ipv4
    case AF_INET6: return .ipv6
    // A group of next hops does not have a family.
    case AF_UNSPEC: return .both
    default: return .none
    }
  }

  /// Decodes a notification about routes, rules or next hops. Their headers all begin with the family. Nil for other
  /// notifications.
  static func hint(_ frame: NetlinkMessage, _ bytes: RawSpan) -> Message? {
    let event: NetworkEvent
    let families = families(bytes, frame.payload)
    switch Int(frame.type) {
    case RTM_NEWROUTE, RTM_NEWNEXTHOP: event = .routing(families, isRemoval: false)
    case RTM_DELROUTE, RTM_DELNEXTHOP: event = .routing(families, isRemoval: true)
    case RTM_NEWRULE: event = .rules(families, isRemoval: false)
    case RTM_DELRULE: event = .rules(families, isRemoval: true)
    default: return nil
    }
    return families.isEmpty ? .ignored : .event(event)
  }

  /// Decodes a change of settings. Only one setting affects a lookup: whether routes over links without a carrier count. No
  /// other message reports it.
  static func netconf(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    let attributes = min(payload.lowerBound + 4, payload.upperBound)
    let value = bytes.attribute(NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN, in: attributes..<payload.upperBound)
    let families = families(bytes, payload)
    return value == nil || families.isEmpty ? .ignored : .event(.routing(families, isRemoval: false))
  }
}

/// Decodes the rules that choose the routing table, from a list.
extension NetlinkDecoder {
  /// struct fib_rule_hdr: family, dst_len, src_len, tos, table, two reserved bytes, action, flags (4).
  private static let ruleHeaderLength = 12
  /// FRA_DSCP and FRA_FLOWLABEL, which older headers do not name.
  private static let (differentiatedServices, flowLabel) = (25, 26)

  static func rule(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard payload.count >= ruleHeaderLength else { return .ignored }
    let start = payload.lowerBound
    var rule = RoutingRule()
    rule.action = bytes.load(start + 7, as: UInt8.self)
    rule.isInverted = bytes.load(start + 8, as: UInt32.self) & UInt32(FIB_RULE_INVERT) != 0
    // A destination, or a type of service. The destination could be compared with ours, but that is not worth the effort.
    rule.hasOtherSelectors = [1, 3].contains { bytes.load(start + $0, as: UInt8.self) != 0 }
    let (family, sourceLength) = (bytes.load(start, as: UInt8.self), bytes.load(start + 2, as: UInt8.self))
    var table = UInt32(bytes.load(start + 4, as: UInt8.self))

    bytes.forEachAttribute(in: (start + ruleHeaderLength)..<payload.upperBound) { type, value in
      switch type {
      case Int(FRA_TABLE): table = bytes.number(value, as: UInt32.self) ?? table
      case Int(FRA_PRIORITY): rule.priority = bytes.number(value, as: UInt32.self) ?? 0
      case Int(FRA_FWMARK): rule.mark = bytes.number(value, as: UInt32.self) ?? 0
      case Int(FRA_FWMASK): rule.markMask = bytes.number(value, as: UInt32.self) ?? .max
      case Int(FRA_SUPPRESS_PREFIXLEN):
        // If all bits are set, nothing is suppressed.
        rule.suppressedPrefixLength = bytes.number(value, as: Int32.self).flatMap { $0 < 0 ? nil : $0 }
      case Int(FRA_UID_RANGE): rule.users = users(bytes, value)
      case Int(FRA_SRC) where sourceLength > 0:
        rule.source = ipAddress(bytes, value, family: family).map { .init(address: $0, prefixLength: sourceLength) }
      case Int(FRA_IIFNAME), Int(FRA_OIFNAME), Int(FRA_IP_PROTO), Int(FRA_SPORT_RANGE), Int(FRA_DPORT_RANGE),
        Int(FRA_TUN_ID), Int(FRA_L3MDEV), Int(FRA_SRC), Int(FRA_DST):
        // A zero selects nothing; some kernels send it in every rule.
        if value.contains(where: { bytes.load($0, as: UInt8.self) != 0 }) { rule.hasOtherSelectors = true }
      // The kernel sends these only if they select, and a zero also selects.
      case differentiatedServices, flowLabel: rule.hasOtherSelectors = true
      default: break
      }
    }
    if sourceLength > 0, rule.source == nil { rule.hasOtherSelectors = true }
    if rule.action == UInt8(FR_ACT_TO_TBL) { rule.table = table }
    return .rule(rule)
  }

  /// struct fib_rule_uid_range: first, last.
  private static func users(_ bytes: RawSpan, _ range: Range<Int>) -> ClosedRange<UInt32>? {
    guard range.count >= 8 else { return nil }
    let first = bytes.load(range.lowerBound, as: UInt32.self)
    let last = bytes.load(range.lowerBound + 4, as: UInt32.self)
    return first <= last && !(first == 0 && last == .max) ? first...last : nil
  }
}
