import CLibNetlink
import Glibc
import Netwatch

/// A request as bytes, built by libnl once and sent many times.
struct NetlinkRequest {
  private(set) var bytes: [UInt8]
  private static let sequenceOffset = 8

  /// Everything that exists, of one kind: RTM_GETLINK or RTM_GETADDR.
  static func list(_ type: Int) throws(NetlinkError) -> NetlinkRequest {
    let header = type == RTM_GETLINK ? MemoryLayout<ifinfomsg>.size : MemoryLayout<ifaddrmsg>.size
    return try unsafe build(type, flags: NLM_F_DUMP) { message in
      unsafe appendZeros(header, to: message)
        && (type != RTM_GETLINK || nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0)
    }
  }

  /// One link. The index is filled in later.
  static func link() throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETLINK, flags: 0) { message in
      unsafe appendZeros(MemoryLayout<ifinfomsg>.size, to: message)
        && nla_put_u32(message, CInt(IFLA_EXT_MASK), UInt32(RTEXT_FILTER_SKIP_STATS)) == 0
    }
  }

  /// A route lookup. With `throughLink` the output link is filled in later.
  static func lookUp(
    _ target: IPAddress, user: uid_t, allHops: Bool, throughLink: Bool
  ) throws(NetlinkError) -> NetlinkRequest {
    try unsafe build(RTM_GETROUTE, flags: 0) { message in
      var route = rtmsg()
      // Under strict checking IPv4 wants the full length.
      switch target {
      case .v4:
        route.rtm_family = UInt8(AF_INET)
        route.rtm_dst_len = 32
      case .v6:
        route.rtm_family = UInt8(AF_INET6)
        route.rtm_dst_len = 128
      }
      if allHops || throughLink { route.rtm_flags = UInt32(RTM_F_FIB_MATCH) }
      guard unsafe nlmsg_append(message, &route, MemoryLayout<rtmsg>.size, CInt(NLMSG_ALIGNTO)) == 0 else {
        return false
      }
      let hasTarget: Bool
      switch target {
      case .v4(let bits):
        var address = bits.bigEndian
        hasTarget = unsafe nla_put(message, CInt(RTA_DST.rawValue), 4, &address) == 0
      case .v6(let bits):
        var address = bits.bigEndian
        hasTarget = unsafe nla_put(message, CInt(RTA_DST.rawValue), 16, &address) == 0
      }
      // Only a lookup with a user sees rules for users.
      return unsafe hasTarget && nla_put_u32(message, CInt(RTA_UID.rawValue), user) == 0
        && (!throughLink || nla_put_u32(message, CInt(RTA_OIF.rawValue), 0) == 0)
    }
  }

  mutating func setSequence(_ sequence: UInt32) { set(sequence, at: Self.sequenceOffset) }

  /// For ``link()``: the index stands in the header behind family, padding and type.
  mutating func setLinkIndex(_ index: Int32) { set(UInt32(bitPattern: index), at: 16 + 4) }

  /// For ``lookUp(_:user:allHops:throughLink:)`` through a link: the attribute comes last.
  mutating func setOutputLink(_ index: Int32) { set(UInt32(bitPattern: index), at: bytes.count - 4) }

  private mutating func set(_ value: UInt32, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: UInt32.self) }
  }

  private static func build(
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

  private static func appendZeros(_ count: Int, to message: OpaquePointer) -> Bool {
    guard let place = unsafe nlmsg_reserve(message, count, CInt(NLMSG_ALIGNTO)) else { return false }
    unsafe place.initializeMemory(as: UInt8.self, repeating: 0, count: count)
    return true
  }
}
