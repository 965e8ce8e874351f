import CLibNetlink
import Netwatch

/// The kernel's answers to a route lookup, and the next-hop objects that they name.
extension NetlinkDecoder {
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
    case RTN_LOCAL: return .route(.own)
    // An IPv6 route that refuses comes as a route, where IPv4 answers with an error.
    default: return .route(.refused)
    }

    var hop = RouteHop(
      interfaceIndex: 0, prefixLength: bytes.load(start + 1, as: UInt8.self),
      origin: bytes.load(start + 5, as: UInt8.self))
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
        hops[position].metric = hop.metric
        hops[position].table = hop.table
        hops[position].prefixLength = hop.prefixLength
        hops[position].origin = hop.origin
        hops[position].lifetime = hop.lifetime
      }
      return .route(.hops(hops))
    }
    // With net.ipv4.nexthop_compat_mode=0 the number of the object stands for its links and gateways.
    if hop.interfaceIndex <= 0, nextHop > 0 { return .routeOverNextHop(nextHop, hop) }
    return .route(hop.interfaceIndex > 0 ? .hop(hop) : .refused)
  }

  /// struct rta_cacheinfo: two numbers, then the time to the end of the route in USER_HZ; 0 for none, negative if it is over.
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
      bytes.forEachAttribute(in: (start + hopHeaderLength)..<record.upperBound) { type, value in
        read(type, value, into: &hop, bytes, family: family)
      }
      hops.append(hop)
    }
    return hops
  }

  /// What a route and each of its hops have in common.
  private static func read(
    _ type: Int, _ value: Range<Int>, into hop: inout RouteHop, _ bytes: RawSpan, family: UInt8
  ) {
    switch type {
    case Int(RTA_OIF.rawValue): hop.interfaceIndex = bytes.number(value, as: Int32.self) ?? 0
    case Int(RTA_GATEWAY.rawValue): hop.gateway = ipAddress(bytes, value, family: family)
    case Int(RTA_VIA.rawValue):
      // struct rtvia: the next hop is of another family, which comes first.
      guard let other = bytes.number(value, as: UInt16.self) else { return }
      let address = (value.lowerBound + 2)..<value.upperBound
      hop.gateway = ipAddress(bytes, address, family: UInt8(truncatingIfNeeded: other))
    default: break
    }
  }

  static func ipAddress(_ bytes: RawSpan, _ range: Range<Int>, family: UInt8) -> IPAddress? {
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
struct NextHopObject: Hashable, Sendable {
  var interfaceIndex: Int32 = 0
  var gateway: IPAddress?
  /// The numbers of a group's members.
  var members: [UInt32] = []
  var isBlackhole = false
}
