import CLibNetlink
import CLibNetlinkRoute
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// A second decoder of rtnetlink, with which netwatch's decoder is compared: the parsers of libnl-route.
///
/// What libnl-route 3.7 does not read is in ``gaps``. It is read here with libnl's functions for attributes and with
/// the structures of the kernel's headers.
enum LibnlOracle {
  /// Everything that is decoded from one message.
  struct Reading: Hashable {
    var frame: NetlinkMessage
    var asNotification = NetlinkDecoder.Message.ignored
    var asAnswer = NetlinkDecoder.Message.ignored
    var neighbour: Neighbour?
    var neighbourState: NeighbourState?
    var hardwareAddress: UInt64?
    var counters: LinkCounters.Bytes?
  }

  /// Returns what netwatch's decoder reads in a datagram.
  static func ours(_ datagram: [UInt8]) -> [Reading] {
    var readings: [Reading] = []
    let bytes = unsafe datagram.span.bytes
    NetlinkMessage.forEach(in: bytes) { frame in
      var reading = Reading(frame: frame)
      defer { readings.append(reading) }
      guard frame.kind == .payload else { return }
      reading.asNotification = NetlinkDecoder.message(frame, bytes, as: .notification)
      reading.asAnswer = NetlinkDecoder.message(frame, bytes, as: .answer)
      reading.counters = LinkCounters.bytes(frame, bytes)
      guard Int(frame.type) == RTM_NEWNEIGH,
        let (neighbour, state) = NetlinkDecoder.neighbourState(bytes, frame.payload)
      else { return }
      (reading.neighbour, reading.neighbourState) = (neighbour, state)
      reading.hardwareAddress = GatewayQueries.hardwareAddress(of: neighbour, frame, bytes)
    }
    return readings
  }

  /// Returns what libnl reads in a datagram of rtnetlink.
  ///
  /// - Throws: A `TestFailure` if libnl refuses a message.
  static func readings(_ datagram: [UInt8]) throws -> [Reading] {
    var readings: [Reading] = []
    var datagram = datagram
    try unsafe datagram.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      var header = unsafe base.assumingMemoryBound(to: nlmsghdr.self)
      var left = CInt(bytes.count)
      while unsafe nlmsg_ok(header, left) != 0 {
        let start = bytes.count - Int(left)
        unsafe readings.append(try reading(header, at: start))
        unsafe header = nlmsg_next(header, &left)
      }
    }
    return readings
  }

  private static func reading(_ header: UnsafeMutablePointer<nlmsghdr>, at start: Int) throws -> Reading {
    let length = unsafe Int(header.pointee.nlmsg_len)
    let type = unsafe header.pointee.nlmsg_type
    var reading = unsafe Reading(
      frame: NetlinkMessage(
        kind: kind(header), type: type, sequence: header.pointee.nlmsg_seq,
        isInterrupted: header.pointee.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0,
        payload: (start + MemoryLayout<nlmsghdr>.size)..<(start + length), record: start..<(start + length)))
    guard reading.frame.kind == .payload else { return reading }
    let message = unsafe Message(header)
    var both: NetlinkDecoder.Message?
    switch Int(type) {
    case RTM_NEWLINK, RTM_DELLINK: both = try message.link()
    case RTM_NEWADDR, RTM_DELADDR: both = try message.address()
    case RTM_NEWNETCONF: both = try message.netconf()
    case RTM_NEWROUTE, RTM_DELROUTE:
      let (hint, answer) = try message.route()
      reading.asNotification = hint
      if Int(type) == RTM_NEWROUTE { reading.asAnswer = answer }
    case RTM_NEWRULE, RTM_DELRULE:
      let (hint, answer) = try message.rule()
      reading.asNotification = hint
      if Int(type) == RTM_NEWRULE { reading.asAnswer = answer }
    case RTM_NEWNEXTHOP, RTM_DELNEXTHOP:
      let (hint, answer) = message.nextHop()
      reading.asNotification = hint
      if Int(type) == RTM_NEWNEXTHOP { reading.asAnswer = answer }
    case RTM_NEWNEIGH:
      guard let (neighbour, state, hardwareAddress) = try message.neighbour() else { break }
      (reading.neighbour, reading.neighbourState) = (neighbour, state)
      switch state {
      case .failed: reading.asNotification = .event(.neighbour(neighbour, isDead: true))
      case .incomplete, .absent: break
      case .reachable, .stale, .permanent:
        reading.asNotification = .event(.neighbour(neighbour, isDead: false))
        reading.hardwareAddress = hardwareAddress
      }
    case RTM_DELNEIGH:
      if let (neighbour, _, _) = try message.neighbour() {
        reading.asNotification = .event(.neighbour(neighbour, isDead: false))
      }
    case RTM_NEWSTATS: reading.counters = message.counters()
    default: break
    }
    if let both { (reading.asNotification, reading.asAnswer) = (both, both) }
    return reading
  }

  /// Returns the places of the numbers in a message. The first three bytes are left out, because the family decides how
  /// all other bytes are read, and because the lengths of prefixes belong to addresses.
  static func numbers(of frame: NetlinkMessage, in message: [UInt8]) -> [Int] {
    let lengths = [
      RTM_NEWLINK: 16, RTM_DELLINK: 16, RTM_NEWADDR: 8, RTM_DELADDR: 8, RTM_NEWNEXTHOP: 8, RTM_DELNEXTHOP: 8,
      RTM_NEWNETCONF: 4, RTM_DELNETCONF: 4,
    ]
    let header = frame.payload.lowerBound..<(frame.payload.lowerBound + (lengths[Int(frame.type)] ?? 12))
    var places = Array(header.dropFirst(3))
    unsafe message.span.bytes.forEachAttribute(in: header.upperBound..<frame.payload.upperBound) { _, value in
      if [1, 2, 4, 8, 16].contains(value.count) { places += value }
    }
    return places
  }

  private static func kind(_ header: UnsafeMutablePointer<nlmsghdr>) -> NetlinkMessage.Kind {
    let code = unsafe nlmsg_datalen(header) >= 4 ? nlmsg_data(header).load(as: Int32.self) : nil
    switch unsafe (CInt(header.pointee.nlmsg_type), code) {
    case (NLMSG_OVERRUN, _): return .overrun
    case (NLMSG_DONE, 0?): return .done
    case (NLMSG_ERROR, let code?), (NLMSG_DONE, let code?): return .error(code: -code)
    default: return .payload
    }
  }
}

/// One message, and functions that read it with libnl.
@safe private struct Message {
  private let header: UnsafeMutablePointer<nlmsghdr>

  init(_ header: UnsafeMutablePointer<nlmsghdr>) { unsafe self.header = unsafe header }

  /// Calls `body` with the object that libnl-route makes of the message, and with the names of the attributes that
  /// libnl-route has found.
  private func parse<Result>(_ body: (OpaquePointer, Set<Substring>) -> Result) throws -> Result {
    guard let message = unsafe nlmsg_convert(header) else { throw TestFailure("nlmsg_convert") }
    defer { unsafe nlmsg_free(message) }
    unsafe nlmsg_set_proto(message, NETLINK_ROUTE)
    var object: OpaquePointer?
    let code = unsafe nl_msg_parse(
      message,
      { found, context in
        unsafe nl_object_get(found)
        unsafe context?.assumingMemoryBound(to: OpaquePointer?.self).pointee = found
      }, &object)
    guard code >= 0, let object = unsafe object else {
      throw unsafe TestFailure(
        "libnl refuses a message of type \(header.pointee.nlmsg_type): \(String(cString: nl_geterror(code)))")
    }
    defer { unsafe nl_object_put(object) }
    var names = [CChar](repeating: 0, count: 1024)
    let list = unsafe nl_object_attr_list(object, &names, names.count).map { unsafe String(cString: $0) } ?? ""
    return unsafe body(object, Set(list.split(separator: ",")))
  }

  // MARK: Links

  func link() throws -> NetlinkDecoder.Message {
    try unsafe parse { link, attributes in
      let index = unsafe rtnl_link_get_ifindex(link)
      // libnl-route gives a bridge the family AF_BRIDGE, whatever the message says.
      let family = unsafe nlmsg_data(header).load(as: ifinfomsg.self).ifi_family
      guard CInt(family) == AF_UNSPEC, index > 0 else { return .ignored }
      if unsafe nl_object_get_msgtype(link) == RTM_DELLINK { return .event(.linkRemoved(index: index)) }
      var fact = unsafe LinkUpdate(
        index: index, flags: rtnl_link_get_flags(link), hardwareType: UInt16(rtnl_link_get_arptype(link)))
      fact.name = unsafe rtnl_link_get_name(link).map { name in
        unsafe InterfaceName(UnsafeRawBufferPointer(start: name, count: strlen(name)).bytes)
      }
      fact.kind = unsafe text(rtnl_link_get_type(link))
      fact.isComplete = attributes.contains("operstate")
      if fact.isComplete { fact.operationalState = unsafe OperationalState(rawValue: rtnl_link_get_operstate(link)) }
      if let losses = unsafe attribute(IFLA_CARRIER_DOWN_COUNT, after: ifinfomsg.self) {
        fact.carrierLosses = unsafe nla_get_u32(losses)
      }
      if attributes.contains("master") { fact.masterIndex = unsafe rtnl_link_get_master(link) }
      fact.hardwareAddress = unsafe hardwareAddress(rtnl_link_get_addr(link))
      var namespace: Int32 = 0
      fact.isCarriedElsewhere = unsafe rtnl_link_get_link_netnsid(link, &namespace) == 0
      if fact.kind == "bond", let port = unsafe linkData(IFLA_BOND_ACTIVE_SLAVE) {
        fact.activePortIndex = unsafe nla_get_s32(port)
      }
      if fact.isCarriedElsewhere { return .event(.link(fact)) }
      let lower = unsafe rtnl_link_get_link(link)
      var outer: UInt32 = 0
      if unsafe rtnl_link_is_vxlan(link) != 0, unsafe rtnl_link_vxlan_get_link(link, &outer) == 0 {
        fact.lowerIndex = Int32(outer)
      } else if lower > 0 {
        fact.lowerIndex = lower
      }
      if let remote = unsafe remote(link, kind: fact.kind), !remote.isUnspecified, !remote.isMulticast {
        fact.remote = remote
      }
      return .event(.link(fact))
    }
  }

  private func remote(_ link: OpaquePointer, kind: String?) -> InternetAddress? {
    var address = in6_addr()
    var group: OpaquePointer?
    switch kind {
    case "ipip": return .v4(UInt32(bigEndian: unsafe rtnl_link_ipip_get_remote(link)))
    case "sit": return .v4(UInt32(bigEndian: unsafe rtnl_link_sit_get_remote(link)))
    case "gre", "gretap": return .v4(UInt32(bigEndian: unsafe rtnl_link_ipgre_get_remote(link)))
    case "vti": return .v4(UInt32(bigEndian: unsafe rtnl_link_ipvti_get_remote(link)))
    case "ip6tnl": return unsafe rtnl_link_ip6_tnl_get_remote(link, &address) == 0 ? .v6(address) : nil
    case "ip6gre": return unsafe rtnl_link_ip6gre_get_remote(link, &address) == 0 ? .v6(address) : nil
    case "vti6": return unsafe rtnl_link_ip6vti_get_remote(link, &address) == 0 ? .v6(address) : nil
    case "vxlan":
      guard unsafe rtnl_link_vxlan_get_group(link, &group) == 0 else { return nil }
    case "geneve":
      guard unsafe rtnl_link_geneve_get_remote(link, &group) == 0 else { return nil }
    case "erspan", "ip6gretap", "ip6erspan":
      guard let value = unsafe linkData(IFLA_GRE_REMOTE) else { return nil }
      return unsafe InternetAddress(nla_data(value), count: Int(nla_len(value)))
    default: return nil
    }
    defer { unsafe nl_addr_put(group) }
    return unsafe self.address(group)
  }

  /// Returns an attribute of IFLA_INFO_DATA; nil if the message does not have it.
  private func linkData(_ type: Int) -> Attribute? {
    guard let info = unsafe attribute(IFLA_LINKINFO, after: ifinfomsg.self),
      let data = unsafe attribute(IFLA_INFO_DATA, in: info)
    else { return nil }
    return unsafe attribute(type, in: data)
  }

  // MARK: Addresses

  func address() throws -> NetlinkDecoder.Message {
    try unsafe parse { object, _ in
      let index = unsafe rtnl_addr_get_ifindex(object)
      guard index > 0, let address = unsafe address(rtnl_addr_get_local(object)) else { return .ignored }
      let length = UInt8(unsafe rtnl_addr_get_prefixlen(object))
      if unsafe nl_object_get_msgtype(object) == RTM_DELADDR {
        return .event(.addressRemoved(index: index, address, prefixLength: length))
      }
      var flags = unsafe rtnl_addr_get_flags(object)
      if unsafe rtnl_addr_get_preferred_lifetime(object) == 0 { flags |= InterfaceAddress.deprecatedFlag }
      return .event(
        .address(
          index: index,
          InterfaceAddress(
            address: address, prefixLength: length, flags: flags, scope: UInt8(unsafe rtnl_addr_get_scope(object)))))
    }
  }

  // MARK: Routes

  func route() throws -> (hint: NetlinkDecoder.Message, answer: NetlinkDecoder.Message) {
    try unsafe parse { route, _ in
      let hint = unsafe hint(family: CInt(rtnl_route_get_family(route)))
      switch unsafe Int(rtnl_route_get_type(route)) {
      case RTN_UNICAST: break
      case RTN_LOCAL: return (hint, .route(.own))
      default: return (hint, .route(.refused))
      }
      var common = unsafe RouteHop(
        interfaceIndex: 0, source: address(rtnl_route_get_pref_src(route)), metric: rtnl_route_get_priority(route),
        table: rtnl_route_get_table(route), prefixLength: UInt8(nl_addr_get_prefixlen(rtnl_route_get_dst(route))),
        origin: rtnl_route_get_protocol(route))
      common.scope = unsafe rtnl_route_get_scope(route)
      if let value = unsafe attribute(RTA_CACHEINFO, after: rtmsg.self) {
        let times = unsafe nla_data(value).load(as: rta_cacheinfo.self)
        common.lifetime = UInt32(max(0, times.rta_expires))
      }
      let hops = unsafe (0..<rtnl_route_get_nnexthops(route)).compactMap { number in
        unsafe rtnl_route_nexthop_n(route, number).map { nextHop in
          var hop = common
          hop.interfaceIndex = unsafe rtnl_route_nh_get_ifindex(nextHop)
          hop.gateway = unsafe address(rtnl_route_nh_get_gateway(nextHop) ?? rtnl_route_nh_get_via(nextHop))
          hop.isDead = unsafe Int32(bitPattern: rtnl_route_nh_get_flags(nextHop)) & RTNH_F_DEAD != 0
          return hop
        }
      }
      if hops.count > 1 { return (hint, .route(.hops(hops))) }
      if let hop = hops.first, hop.interfaceIndex > 0 { return (hint, .route(.hop(hop))) }
      if let number = unsafe attribute(RTA_NH_ID, after: rtmsg.self) {
        return unsafe (hint, .routeOverNextHop(nla_get_u32(number), common))
      }
      return (hint, .route(.refused))
    }
  }

  func nextHop() -> (hint: NetlinkDecoder.Message, answer: NetlinkDecoder.Message) {
    let family = unsafe CInt(nlmsg_data(header).load(as: nhmsg.self).nh_family)
    var object = NextHopObject()
    if let link = unsafe attribute(NHA_OIF, after: nhmsg.self) { object.interfaceIndex = unsafe nla_get_s32(link) }
    if let gateway = unsafe attribute(NHA_GATEWAY, after: nhmsg.self) {
      object.gateway = unsafe InternetAddress(nla_data(gateway), count: Int(nla_len(gateway)))
    }
    object.isBlackhole = unsafe attribute(NHA_BLACKHOLE, after: nhmsg.self) != nil
    if let group = unsafe attribute(NHA_GROUP, after: nhmsg.self) {
      let members = unsafe UnsafeRawBufferPointer(start: nla_data(group), count: Int(nla_len(group)))
      object.members = unsafe members.bindMemory(to: nexthop_grp.self).map { $0.id }
    }
    return (hint(family: family), .nextHop(object))
  }

  // MARK: Rules

  func rule() throws -> (hint: NetlinkDecoder.Message, answer: NetlinkDecoder.Message) {
    try unsafe parse { object, attributes in
      var rule = RoutingRule()
      rule.priority = unsafe rtnl_rule_get_prio(object)
      rule.action = unsafe rtnl_rule_get_action(object)
      if Int(rule.action) == FR_ACT_TO_TBL { rule.table = unsafe rtnl_rule_get_table(object) }
      rule.mark = unsafe rtnl_rule_get_mark(object)
      if attributes.contains("mask") { rule.markMask = unsafe rtnl_rule_get_mask(object) }
      var (number, first, last) = (UInt8(0), UInt16(0), UInt16(0))
      rule.hasOtherSelectors = unsafe [
        rtnl_rule_get_dst(object) != nil, rtnl_rule_get_dsfield(object) != 0,
        rtnl_rule_get_iif(object) != nil, rtnl_rule_get_oif(object) != nil, rtnl_rule_get_l3mdev(object) > 0,
        rtnl_rule_get_ipproto(object, &number) == 0 && number != 0,
        rtnl_rule_get_sport(object, &first, &last) == 0 && last != 0,
        rtnl_rule_get_dport(object, &first, &last) == 0 && last != 0,
        attribute(FRA_TUN_ID, after: fib_rule_hdr.self).map { unsafe nla_get_u64($0) != 0 } ?? false,
        // The numbers are those of FRA_DSCP and FRA_FLOWLABEL, which older headers do not name. Zero also selects.
        attribute(25, after: fib_rule_hdr.self) != nil, attribute(26, after: fib_rule_hdr.self) != nil,
      ].contains(true)

      if let source = unsafe rtnl_rule_get_src(object), let address = unsafe address(source) {
        rule.source = .init(address: address, prefixLength: UInt8(unsafe nl_addr_get_prefixlen(source)))
      }
      rule.isInverted = unsafe nlmsg_data(header).load(as: fib_rule_hdr.self).flags & UInt32(FIB_RULE_INVERT) != 0
      if let length = unsafe attribute(FRA_SUPPRESS_PREFIXLEN, after: fib_rule_hdr.self) {
        rule.suppressedPrefixLength = unsafe nla_get_s32(length) < 0 ? nil : nla_get_s32(length)
      }
      if let range = unsafe attribute(FRA_UID_RANGE, after: fib_rule_hdr.self) {
        let users = unsafe nla_data(range).load(as: fib_rule_uid_range.self)
        let isForAll = users.start == 0 && users.end == .max
        if users.start <= users.end, !isForAll { rule.users = users.start...users.end }
      }
      return unsafe (hint(family: rtnl_rule_get_family(object)), .rule(rule))
    }
  }

  // MARK: The rest

  func neighbour() throws -> (Neighbour, NeighbourState, hardwareAddress: UInt64?)? {
    try unsafe parse { object, _ in
      let index = unsafe rtnl_neigh_get_ifindex(object)
      guard index > 0, [AF_INET, AF_INET6].contains(unsafe rtnl_neigh_get_family(object)),
        let address = unsafe address(rtnl_neigh_get_dst(object))
      else { return nil }
      let state: NeighbourState =
        switch unsafe rtnl_neigh_get_state(object) {
        case NUD_FAILED: .failed
        case NUD_REACHABLE: .reachable
        case NUD_STALE, NUD_DELAY, NUD_PROBE: .stale
        case NUD_NOARP, NUD_PERMANENT: .permanent
        case NUD_INCOMPLETE: .incomplete
        default: .absent
        }
      let hardware = unsafe rtnl_neigh_get_lladdr(object)
      let isUsable = unsafe hardware.map { unsafe nl_addr_get_len($0) == 6 && nl_addr_iszero($0) == 0 } ?? false
      return unsafe (
        Neighbour(interfaceIndex: index, address: address), state, isUsable ? hardwareAddress(hardware) : nil
      )
    }
  }

  func netconf() throws -> NetlinkDecoder.Message {
    try unsafe parse { object, _ in
      var (family, value) = (CInt(0), CInt(0))
      guard unsafe rtnl_netconf_get_ignore_routes_linkdown(object, &value) == 0,
        unsafe rtnl_netconf_get_family(object, &family) == 0
      else { return .ignored }
      return hint(family: family)
    }
  }

  func counters() -> LinkCounters.Bytes? {
    guard let value = unsafe attribute(IFLA_STATS_LINK_64, after: if_stats_msg.self) else { return nil }
    let counters = unsafe nla_data(value).loadUnaligned(as: rtnl_link_stats64.self)
    return LinkCounters.Bytes(
      received: counters.rx_bytes, sent: counters.tx_bytes, packetsReceived: counters.rx_packets,
      packetsSent: counters.tx_packets)
  }

  private func hint(family: CInt) -> NetlinkDecoder.Message {
    let families: AddressFamilies? = [AF_INET: .ipv4, AF_INET6: .ipv6, AF_UNSPEC: .both][family]
    let type = unsafe Int(header.pointee.nlmsg_type)
    let isRemoval = [RTM_DELROUTE, RTM_DELRULE, RTM_DELNEXTHOP].contains(type)
    let isRule = [RTM_NEWRULE, RTM_DELRULE].contains(type)
    return families.map { families in
      .event(isRule ? .rules(families, isRemoval: isRemoval) : .routing(families, isRemoval: isRemoval))
    } ?? .ignored
  }

  // MARK: Pieces

  private typealias Attribute = UnsafeMutablePointer<nlattr>

  private func attribute<Header>(_ type: some BinaryInteger, after header: Header.Type) -> Attribute? {
    unsafe nlmsg_find_attr(self.header, CInt(MemoryLayout<Header>.size), CInt(type))
  }

  private func attribute<Header>(_ type: rtattr_type_t, after header: Header.Type) -> Attribute? {
    unsafe attribute(type.rawValue, after: header)
  }

  private func attribute(_ type: Int, in nest: Attribute) -> Attribute? {
    unsafe nla_find(nla_data(nest).assumingMemoryBound(to: nlattr.self), nla_len(nest), CInt(type))
  }

  private func address(_ address: OpaquePointer?) -> InternetAddress? {
    guard let address = unsafe address, let bytes = unsafe nl_addr_get_binary_addr(address) else { return nil }
    return unsafe InternetAddress(bytes, count: Int(nl_addr_get_len(address)))
  }

  private func hardwareAddress(_ address: OpaquePointer?) -> UInt64? {
    guard let address = unsafe address, let bytes = unsafe nl_addr_get_binary_addr(address) else { return nil }
    let count = min(8, unsafe Int(nl_addr_get_len(address)))
    return unsafe UnsafeRawBufferPointer(start: bytes, count: count).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private func text(_ text: UnsafePointer<CChar>?) -> String? { unsafe text.map { unsafe String(cString: $0) } }
}

extension InternetAddress {
  fileprivate static func v6(_ address: in6_addr) -> InternetAddress {
    .v6(UInt128(bigEndian: unsafe unsafeBitCast(address, to: UInt128.self)))
  }

  /// Creates an address from bytes in network order. Returns nil if there are neither 4 nor 16 bytes.
  fileprivate init?(_ bytes: UnsafeRawPointer, count: Int) {
    switch count {
    case 4: self = .v4(UInt32(bigEndian: unsafe bytes.loadUnaligned(as: UInt32.self)))
    case 16: self = .v6(UInt128(bigEndian: unsafe bytes.loadUnaligned(as: UInt128.self)))
    default: return nil
    }
  }
}

// MARK: What libnl-route does not read

extension LibnlOracle {
  /// A part of rtnetlink that libnl-route 3.7 does not read, with a message of Linux 6.18 and what the message means
  /// according to the kernel's headers.
  struct Gap: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: [UInt8]
    var answer: NetlinkDecoder.Message = .ignored
    var counters: LinkCounters.Bytes?

    init(
      _ description: String, _ bytes: [UInt8], _ answer: NetlinkDecoder.Message = .ignored,
      counters: LinkCounters.Bytes? = nil
    ) {
      testDescription = description
      self.bytes = bytes
      self.answer = answer
      self.counters = counters
    }
  }

  /// All parts of rtnetlink that libnl-route does not read.
  ///
  /// libnl-route also does not read IFLA_GRE_REMOTE of the kinds `erspan`, `ip6gretap` and `ip6erspan`, which Linux
  /// sends as for `gre`. It has no parser for nl80211 and for sock_diag, which are not rtnetlink.
  /// `WirelessDecodingTests` and `ConnectionDecodingTests` compare netwatch's decoders with recorded bytes.
  static let gaps: [Gap] = [
    // ip rule add not fwmark 51820 table 51820
    Gap(
      "FIB_RULE_INVERT: no function returns the flags of struct fib_rule_hdr", Corpus.ruleUnlessMarked,
      rule(32765, table: 51820) {
        $0.mark = 51820
        $0.isInverted = true
      }),
    // ip rule add table main suppress_prefixlength 0
    Gap(
      "FRA_SUPPRESS_PREFIXLEN: its parser skips the attribute", Corpus.ruleSuppress,
      rule(32764, table: 254) { $0.suppressedPrefixLength = 0 }),
    // ip rule add uidrange 1000-1999 table 100
    Gap(
      "FRA_UID_RANGE: its parser skips the attribute", Corpus.ruleUsers,
      rule(32762, table: 100) { $0.users = 1000...1999 }),
    // ip rule add prio 111 tun_id 7 table 83
    Gap(
      "FRA_TUN_ID: its parser skips the attribute",
      Corpus.bytes(
        """
        48000000200000007a230a6bd07f000002000000530000010000000008000f005300000008000e00ffffffff0500150000000000080006006f
        0000000c000c000000000000000007
        """),
      rule(111, table: 83) { $0.hasOtherSelectors = true }),
    // ip rule add prio 122 dscp 0 table 90
    Gap(
      "FRA_DSCP: its parser skips the attribute",
      Corpus.bytes(
        """
        4c0000002000020001000000ce680000020000005a0000010000000008000f005a00000008000e00ffffffff0500150000000000080006007a00
        0000050019000000000005001e003f000000
        """),
      rule(122, table: 90) { $0.hasOtherSelectors = true }),
    // ip -6 rule add prio 121 flowlabel 7 table 90
    Gap(
      "FRA_FLOWLABEL: its parser skips the attribute",
      Corpus.bytes(
        """
        4c0000002000020001000000ce6800000a0000005a0000010000000008000f005a00000008000e00ffffffff0500150000000000080006007900
        000008001a000000000708001b00000fffff
        """),
      rule(121, table: 90) { $0.hasOtherSelectors = true }),
    // ip nexthop add id 6 via fe80::7 dev v0
    Gap(
      "Next-hop objects: it has no parser",
      Corpus.bytes(
        """
        3c000000680005067a230a6bc97f00000afd0000000000000800010006000000080005000300000014000600fe80000000000000000000000000
        0007
        """),
      nextHop {
        $0.interfaceIndex = 3
        $0.gateway = .ip("fe80::7")
      }),
    // ip nexthop add id 6 group 5
    Gap("Groups of next hops", Corpus.nexthopGroup, nextHop { $0.members = [5] }),
    // ip nexthop add id 4 blackhole
    Gap(
      "Next hops that drop everything",
      Corpus.bytes("2400000068000200a7230a6b0311c0910200000000000000080001000400000004000400"),
      nextHop { $0.isBlackhole = true }),
    // ip route add 100.64.4.0/24 nhid 6, with net.ipv4.nexthop_compat_mode=0
    Gap(
      "RTA_NH_ID: its parser skips the attribute",
      Corpus.bytes(
        """
        340000001800000088230a6bb37f006302180000fe0300010000000008000f00fe000000080001006440040008001e0006000000
        """),
      .routeOverNextHop(6, RouteHop(interfaceIndex: 0, prefixLength: 24))),
    // ip -6 route add default via fe80::1 dev v0 proto ra metric 100 expires 90
    Gap(
      "RTA_CACHEINFO: no function returns the end of a route, and its text has whole seconds",
      Corpus.bytes(
        """
        74000000180000007e230a6bb37f00630a000000fe0900010000000008000f00fe000000080006006400000014000500fe800000000000000000
        000000000001080004000300000024000c0000000000000000002823000000000000000000000000000000000000000000000500140000000000
        """),
      hop(
        RouteHop(interfaceIndex: 3, gateway: .ip("fe80::1"), metric: 100, origin: RouteHop.advertisementOrigin),
        lifetime: 9000)),
    // ip link add bond7 type bond mode active-backup, with a port that has the number 23
    Gap(
      "IFLA_BOND_ACTIVE_SLAVE: it only writes the attribute", Corpus.bond,
      .event(
        .link(
          link(21, "bond7", kind: "bond", flags: 0x11443, .up, hardwareAddress: 0x0ab7_17d1_1516) {
            $0.activePortIndex = 23
            $0.carrierLosses = 1
          }))),
    // ip link add br0 type bridge
    Gap(
      "The family of a bridge: it is always AF_BRIDGE, which the kernel sends for ports", Corpus.emptyBridge,
      .event(
        .link(
          link(4, "br0", kind: "bridge", flags: 0x11043, .unknown, hardwareAddress: 0x8ab4_4868_ac0d) {
            $0.carrierLosses = 0
          }))),
    // ip -s link show v0
    Gap(
      "RTM_NEWSTATS: it has no parser",
      Corpus.bytes(
        """
        e80000005c00020004240a6bb22c0082000000000300000001000000cc000100030000000000000006000000000000000a01000000000000
        0402000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
        0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
        0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
        0000000000000000
        """),
      counters: LinkCounters.Bytes(received: 266, sent: 516, packetsReceived: 3, packetsSent: 6)),
  ]

  private static func rule(
    _ priority: UInt32, table: UInt32, _ fill: (inout RoutingRule) -> Void
  ) -> NetlinkDecoder.Message {
    var rule = RoutingRule()
    (rule.priority, rule.table, rule.action) = (priority, table, UInt8(FR_ACT_TO_TBL))
    fill(&rule)
    return .rule(rule)
  }

  private static func hop(_ hop: RouteHop, lifetime: UInt32) -> NetlinkDecoder.Message {
    var hop = hop
    hop.lifetime = lifetime
    return .route(.hop(hop))
  }

  private static func nextHop(_ fill: (inout NextHopObject) -> Void) -> NetlinkDecoder.Message {
    var object = NextHopObject()
    fill(&object)
    return .nextHop(object)
  }

  private static func link(
    _ index: Int32, _ name: InterfaceName, kind: String, flags: UInt32, _ state: OperationalState,
    hardwareAddress: UInt64, _ fill: (inout LinkUpdate) -> Void = { _ in }
  ) -> LinkUpdate {
    var fact = LinkUpdate(index: index, flags: flags, hardwareType: UInt16(ARPHRD_ETHER))
    (fact.name, fact.kind, fact.operationalState) = (name, kind, state)
    (fact.hardwareAddress, fact.isComplete) = (hardwareAddress, true)
    fill(&fact)
    return fact
  }
}
