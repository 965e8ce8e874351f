import CLibNetlink
import Glibc
import Netwatch

/// The requests to rtnetlink.
extension NetlinkRequest {
  /// Makes the request for every link.
  static func links() throws(NetlinkError) -> NetlinkRequest { try links(flags: NLM_F_DUMP) }

  /// Makes the request for one link. ``setLinkIndex(_:)`` sets the index later.
  static func link() throws(NetlinkError) -> NetlinkRequest { try links(flags: 0) }

  private static func links(flags: CInt) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETLINK, flags: flags) { message in
      unsafe append(ifinfomsg(), to: message)
        && nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0
    }
  }

  /// Sets the index in ``link()``, which is in the header after family, padding and type.
  mutating func setLinkIndex(_ index: Int32) { set(index, at: 16 + 4) }

  /// Makes the request for the 64-bit counters of one link. ``setStatisticsIndex(_:)`` sets the index later. Since Linux 4.7.
  static func counters() throws(NetlinkError) -> NetlinkRequest {
    var header = if_stats_msg()
    header.filter_mask = 1 << UInt32(IFLA_STATS_LINK_64 - 1)
    return try unsafe build(RTM_GETSTATS, flags: 0) { [header] in unsafe append(header, to: $0) }
  }

  /// Sets the index in ``counters()``, which is in the header after family and padding.
  mutating func setStatisticsIndex(_ index: Int32) { set(index, at: 16 + 4) }

  /// Makes the request for every address.
  static func addresses() throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETADDR, flags: NLM_F_DUMP) { unsafe append(ifaddrmsg(), to: $0) }
  }

  /// Makes the request for all rules of a family.
  static func rules(_ family: AddressFamily) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETRULE, flags: NLM_F_DUMP) { unsafe append(header(family), to: $0) }
  }

  /// Makes the request for all routes of a family over a link. Without strict checking, the kernel lists all routes.
  static func routes(_ family: AddressFamily, over link: Int32) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETROUTE, flags: NLM_F_DUMP) { message in
      unsafe append(header(family), to: message)
        && nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: link)) == 0
    }
  }

  /// Makes the request for a next-hop object or a group of them. Since Linux 5.3.
  static func nextHop(_ number: UInt32) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEXTHOP, flags: 0) { message in
      unsafe append(nhmsg(), to: message) && nla_put_u32(message, CInt(NHA_ID), number) == 0
    }
  }

  /// Makes the request for a route lookup.
  static func lookUp(_ query: RouteQuery) throws(NetlinkError) -> NetlinkRequest {
    // For a lookup over a link, IPv4 responds "on the link" even without a route, unless the route itself is asked for.
    let wantsRoute = query.kind != .way || query.link != 0
    var request = try unsafe build(RTM_GETROUTE, flags: 0) { message in
      var route = header(query.family)
      // Under strict checking, IPv4 requires the full length.
      route.rtm_dst_len = query.family == .ipv4 ? 32 : 128
      // IPv6 always reports the table, and refuses the flag.
      if query.family == .ipv4 { route.rtm_flags = UInt32(RTM_F_LOOKUP_TABLE) }
      if wantsRoute { route.rtm_flags |= UInt32(RTM_F_FIB_MATCH) }
      guard unsafe append(route, to: message), unsafe append(query.destination, CInt(RTA_DST.rawValue), to: message),
        // Rules for users apply only to a lookup with a user.
        unsafe nla_put_u32(message, CInt(RTA_UID.rawValue), query.user) == 0,
        unsafe query.link == 0 || nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: query.link)) == 0,
        unsafe query.mark == 0 || nla_put_u32(message, CInt(RTA_MARK.rawValue), query.mark) == 0
      else { return false }
      guard let port = query.port else { return true }
      return unsafe nla_put_u8(message, CInt(RTA_IP_PROTO.rawValue), UInt8(IPPROTO_TCP)) == 0
        && nla_put_u16(message, CInt(RTA_DPORT.rawValue), port.bigEndian) == 0
    }
    request.hasOptions = wantsRoute || query.mark != 0 || query.port != nil
    return request
  }

  /// Makes the request for one entry of the neighbour table. Since Linux 5.0.
  static func neighbour(_ neighbour: Neighbour) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEIGH, flags: 0) { message in
      unsafe append(header(of: neighbour), to: message) && append(neighbour.address, CInt(NDA_DST), to: message)
    }
  }

  /// Makes the request for all neighbours of a family on a link. Without strict checking, the kernel lists those of all links.
  static func neighbours(like neighbour: Neighbour) throws(NetlinkError) -> NetlinkRequest {
    var header = header(of: neighbour)
    header.ndm_ifindex = 0
    return try unsafe build(RTM_GETNEIGH, flags: NLM_F_DUMP) { [header] message in
      unsafe append(header, to: message)
        && nla_put_u32(message, CInt(NDA_IFINDEX), UInt32(bitPattern: neighbour.interfaceIndex)) == 0
    }
  }

  private static func header(of neighbour: Neighbour) -> ndmsg {
    var header = ndmsg()
    header.ndm_family = neighbour.address.family.number
    header.ndm_ifindex = neighbour.interfaceIndex
    return header
  }

  private static func header(_ family: AddressFamily) -> rtmsg {
    var header = rtmsg()
    header.rtm_family = family.number
    return header
  }

  private static func append(_ address: IPAddress, _ attribute: CInt, to message: OpaquePointer) -> Bool {
    switch address {
    case .v4(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, attribute, 4, &address) == 0
    case .v6(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, attribute, 16, &address) == 0
    }
  }
}

extension AddressFamily {
  /// AF_INET or AF_INET6.
  var number: UInt8 { UInt8(self == .ipv4 ? AF_INET : AF_INET6) }
}
