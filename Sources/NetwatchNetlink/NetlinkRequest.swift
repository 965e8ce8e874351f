import CLibNetlink
import CLibNetlinkGeneric
import Glibc
import Netwatch

/// A request as bytes, built by libnl. The ones that are sent for every event are built once.
struct NetlinkRequest {
  private(set) var bytes: [UInt8]
  /// It asks for more than a way: kernels that do not know an option refuse it.
  private(set) var hasOptions = false
  private static let typeOffset = 4
  private static let sequenceOffset = 8

  /// Everything that exists, of one kind: RTM_GETLINK or RTM_GETADDR.
  static func list(_ type: Int) throws(NetlinkError) -> NetlinkRequest {
    let header = type == RTM_GETLINK ? MemoryLayout<ifinfomsg>.size : MemoryLayout<ifaddrmsg>.size
    return try unsafe build(type, flags: NLM_F_DUMP) { message in
      unsafe appendZeros(header, to: message)
        && (type != RTM_GETLINK || nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0)
    }
  }

  /// All rules of a family.
  static func rules(_ family: AddressFamily) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETRULE, flags: NLM_F_DUMP) { message in
      var header = rtmsg()
      header.rtm_family = family.number
      return unsafe nlmsg_append(message, &header, MemoryLayout<rtmsg>.size, CInt(NLMSG_ALIGNTO)) == 0
    }
  }

  /// All routes of a family that lead over a link, as long as the kernel checks strictly.
  static func routes(_ family: AddressFamily, over link: Int32) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETROUTE, flags: NLM_F_DUMP) { message in
      var header = rtmsg()
      header.rtm_family = family.number
      return unsafe nlmsg_append(message, &header, MemoryLayout<rtmsg>.size, CInt(NLMSG_ALIGNTO)) == 0
        && nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: link)) == 0
    }
  }

  /// One link. The index is filled in later.
  static func link() throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETLINK, flags: 0) { message in
      unsafe appendZeros(MemoryLayout<ifinfomsg>.size, to: message)
        && nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0
    }
  }

  /// What a route lookup is about, beside the address.
  struct LookUpOptions {
    /// The route itself, with all its hops.
    var wantsRoute = false
    /// Only over this link; 0 for any.
    var link: Int32 = 0
    /// As for packets with this mark.
    var mark: UInt32 = 0
    /// As for TCP to this port, for rules that look at it.
    var port: UInt16?
  }

  /// A route lookup.
  static func lookUp(_ target: IPAddress, user: uid_t, _ options: LookUpOptions) throws(NetlinkError) -> NetlinkRequest
  {
    var request = try unsafe build(RTM_GETROUTE, flags: 0) { message in
      var route = rtmsg()
      route.rtm_family = target.family.number
      // Under strict checking IPv4 wants the full length.
      route.rtm_dst_len = target.family == .ipv4 ? 32 : 128
      // IPv6 always names the table, and refuses the flag.
      if target.family == .ipv4 { route.rtm_flags = UInt32(RTM_F_LOOKUP_TABLE) }
      // Through a link, IPv4 answers "on the link" without any route, unless it is asked for the route itself.
      if options.wantsRoute || options.link != 0 { route.rtm_flags |= UInt32(RTM_F_FIB_MATCH) }
      guard unsafe nlmsg_append(message, &route, MemoryLayout<rtmsg>.size, CInt(NLMSG_ALIGNTO)) == 0,
        unsafe append(target, to: message),
        // Only a lookup with a user sees rules for users.
        unsafe nla_put_u32(message, CInt(RTA_UID.rawValue), user) == 0,
        unsafe options.link == 0
          || nla_put_u32(message, CInt(RTA_OIF.rawValue), UInt32(bitPattern: options.link)) == 0,
        unsafe options.mark == 0 || nla_put_u32(message, CInt(RTA_MARK.rawValue), options.mark) == 0
      else { return false }
      guard let port = options.port else { return true }
      return unsafe nla_put_u8(message, CInt(RTA_IP_PROTO.rawValue), UInt8(IPPROTO_TCP)) == 0
        && nla_put_u16(message, CInt(RTA_DPORT.rawValue), port.bigEndian) == 0
    }
    request.hasOptions = options.wantsRoute || options.link != 0 || options.mark != 0 || options.port != nil
    return request
  }

  private static func append(_ target: IPAddress, to message: OpaquePointer) -> Bool {
    switch target {
    case .v4(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, CInt(RTA_DST.rawValue), 4, &address) == 0
    case .v6(let bits):
      var address = bits.bigEndian
      return unsafe nla_put(message, CInt(RTA_DST.rawValue), 16, &address) == 0
    }
  }

  /// A next-hop object, or a group of them. Since Linux 5.3.
  static func nextHop(_ number: UInt32) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETNEXTHOP, flags: 0) { message in
      var header = nhmsg()
      return unsafe nlmsg_append(message, &header, MemoryLayout<nhmsg>.size, CInt(NLMSG_ALIGNTO)) == 0
        && nla_put_u32(message, CInt(NHA_ID), number) == 0
    }
  }

  /// Every family of generic netlink. Asking for one by its name would make the kernel load the module that has it.
  static func listFamilies() throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(Int(GENL_ID_CTRL), flags: NLM_F_DUMP) { message in
      unsafe appendGeneric(CTRL_CMD_GETFAMILY, Int(GENL_ID_CTRL), flags: NLM_F_DUMP, to: message)
    }
  }

  /// A question to nl80211 about a link. The number of the family and the index are filled in later.
  static func wireless(_ command: nl80211_commands, isListing: Bool) throws(NetlinkError) -> NetlinkRequest {
    let flags = isListing ? NLM_F_DUMP : 0
    return try unsafe build(0, flags: flags) { message in
      unsafe appendGeneric(Int(command.rawValue), 0, flags: flags, to: message)
        && nla_put_u32(message, CInt(NL80211_ATTR_IFINDEX.rawValue), 0) == 0
    }
  }

  mutating func setSequence(_ sequence: UInt32) { set(sequence, at: Self.sequenceOffset) }

  /// For ``link()``: the index stands in the header behind family, padding and type.
  mutating func setLinkIndex(_ index: Int32) { set(UInt32(bitPattern: index), at: 16 + 4) }

  /// For ``wireless(_:isListing:)``: the family stands in the place of the type.
  mutating func setFamily(_ family: UInt16) { set(family, at: Self.typeOffset) }

  /// For ``wireless(_:isListing:)``: the attribute comes last.
  mutating func setWirelessLink(_ index: Int32) { set(UInt32(bitPattern: index), at: bytes.count - 4) }

  private mutating func set<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
  }

  static func build(
    _ type: Int, flags: CInt, _ fill: (OpaquePointer) -> Bool
  ) throws(NetlinkError) -> NetlinkRequest {
    guard let message = unsafe nlmsg_alloc_simple(CInt(type), NLM_F_REQUEST | flags) else {
      throw NetlinkError(operation: "nlmsg_alloc_simple", code: ENOMEM)
    }
    defer { unsafe nlmsg_free(message) }
    guard unsafe fill(message), let header = unsafe nlmsg_hdr(message) else {
      throw NetlinkError(operation: "nla_put", code: ENOMEM)
    }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len)))
    return NetlinkRequest(bytes: bytes)
  }

  private static func appendGeneric(
    _ command: Int, _ family: Int, flags: CInt, to message: OpaquePointer
  ) -> Bool {
    unsafe genlmsg_put(message, 0, 0, CInt(family), 0, NLM_F_REQUEST | flags, UInt8(command), 1) != nil
  }

  private static func appendZeros(_ count: Int, to message: OpaquePointer) -> Bool {
    guard let place = unsafe nlmsg_reserve(message, count, CInt(NLMSG_ALIGNTO)) else { return false }
    unsafe place.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    return true
  }
}

extension AddressFamily {
  /// AF_INET or AF_INET6.
  var number: UInt8 { UInt8(self == .ipv4 ? AF_INET : AF_INET6) }
}
