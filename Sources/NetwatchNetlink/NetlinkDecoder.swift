import CLibNetlink
import Netwatch

/// Turns rtnetlink's bytes into facts and answers, in place and without allocating.
///
/// A message that is too short, or that lies about a length, is left out; the rest is still read.
package enum NetlinkDecoder {
  package enum Message: Hashable, Sendable {
    case event(NetworkEvent)
    case route(RouteAnswer)
    /// A route whose way out is a next-hop object, by its number.
    case routeOverNextHop(UInt32, RouteHop)
    case nextHop(NextHopObject)
    case rule(RoutingRule)
    /// The end of a listing.
    case done
    /// A refusal, or with code 0 an acknowledgement.
    case error(code: Int32)
    /// Messages were dropped inside this socket (NLMSG_OVERRUN).
    case overrun
    case ignored
  }

  package struct Header: Hashable, Sendable {
    package let type: UInt16
    package let sequence: UInt32
    /// The tables changed while this listing was made.
    package let isInterrupted: Bool
  }

  /// What a route message is: a notification that something changed, or the answer to a question.
  package enum Context: Sendable { case notification, answer }

  /// Calls `body` with each message of a datagram, in order.
  package static func decode(_ bytes: RawSpan, as context: Context, _ body: (Header, Message, Range<Int>) -> Void) {
    NetlinkFrames.forEach(in: bytes) { header, payload, record in
      body(header, message(header, bytes, payload, context), record)
    }
  }

  private static func message(
    _ header: Header, _ bytes: RawSpan, _ payload: Range<Int>, _ context: Context
  ) -> Message {
    switch Int(header.type) {
    case RTM_NEWLINK: return link(bytes, payload, isRemoved: false)
    case RTM_DELLINK: return link(bytes, payload, isRemoved: true)
    case RTM_NEWADDR: return address(bytes, payload, isRemoved: false)
    case RTM_DELADDR: return address(bytes, payload, isRemoved: true)
    case RTM_NEWROUTE where context == .answer: return NetlinkRouteDecoder.answer(bytes, payload)
    case RTM_NEWRULE where context == .answer: return NetlinkRuleDecoder.rule(bytes, payload)
    case RTM_NEWNEXTHOP where context == .answer: return NextHopObject.decode(bytes, payload)
    case RTM_NEWNEIGH where context == .notification: return neighbour(bytes, payload)
    case RTM_NEWROUTE, RTM_NEWRULE, RTM_NEWNEXTHOP: return hint(bytes, payload, isRemoval: false)
    case RTM_DELROUTE, RTM_DELRULE, RTM_DELNEXTHOP: return hint(bytes, payload, isRemoval: true)
    case RTM_NEWNETCONF: return netconf(bytes, payload)
    case Int(NLMSG_DONE): return done(bytes, payload)
    case Int(NLMSG_ERROR): return error(bytes, payload)
    case Int(NLMSG_OVERRUN): return .overrun
    default: return .ignored
    }
  }

  // MARK: Links

  /// struct ifinfomsg: family, padding, type (2), index (4), flags (4), change (4).
  private static let linkHeaderLength = 16

  private static func link(_ bytes: RawSpan, _ payload: Range<Int>, isRemoved: Bool) -> Message {
    guard payload.count >= linkHeaderLength else { return .ignored }
    let start = payload.lowerBound
    // A bridge announces its ports under its own family; there "removed" means no port any more.
    guard bytes.load(start, as: UInt8.self) == UInt8(AF_UNSPEC) else { return .ignored }
    let index = bytes.load(start + 4, as: Int32.self)
    guard index > 0 else { return .ignored }
    if isRemoved { return .event(.linkRemoved(index: index)) }

    var fact = LinkFact(
      index: index, flags: bytes.load(start + 8, as: UInt32.self), hardwareType: bytes.load(start + 2, as: UInt16.self))
    var cursor = NetlinkCursor((start + linkHeaderLength)..<payload.upperBound)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case IFLA_IFNAME: fact.name = InterfaceName(bytes.extracting(attribute.value))
      case IFLA_OPERSTATE:
        fact.operationalState = bytes.number(attribute.value, as: UInt8.self).flatMap(OperationalState.init)
        fact.isComplete = true
      case IFLA_MASTER: fact.masterIndex = bytes.number(attribute.value, as: Int32.self)
      case IFLA_LINK: fact.lowerIndex = bytes.number(attribute.value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case IFLA_LINK_NETNSID: fact.isCarriedElsewhere = true
      case IFLA_LINKINFO: LinkInfoDecoder.read(bytes, attribute.value, into: &fact)
      case IFLA_ADDRESS: fact.hardwareAddress = hardwareAddress(bytes, attribute.value)
      default: break
      }
    }
    if fact.isCarriedElsewhere { (fact.lowerIndex, fact.remote) = (nil, nil) }
    return .event(.link(fact))
  }

  private static func hardwareAddress(_ bytes: RawSpan, _ range: Range<Int>) -> UInt64 {
    range.prefix(8).reduce(0) { $0 << 8 | UInt64(bytes.load($1, as: UInt8.self)) }
  }

  // MARK: Addresses

  /// struct ifaddrmsg: family, prefix length, flags, scope, index (4).
  private static let addressHeaderLength = 8

  private static func address(_ bytes: RawSpan, _ payload: Range<Int>, isRemoved: Bool) -> Message {
    guard payload.count >= addressHeaderLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    let prefixLength = bytes.load(start + 1, as: UInt8.self)
    let index = bytes.load(start + 4, as: Int32.self)
    // The header has room for eight flags; IFA_FLAGS has them all.
    var flags = UInt32(bytes.load(start + 2, as: UInt8.self))
    var isOver = false
    var local: IPAddress?
    var peer: IPAddress?
    var cursor = NetlinkCursor((start + addressHeaderLength)..<payload.upperBound)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case IFA_LOCAL: local = ipAddress(bytes, attribute.value, family: family)
      case IFA_ADDRESS: peer = ipAddress(bytes, attribute.value, family: family)
      case IFA_FLAGS: flags = bytes.number(attribute.value, as: UInt32.self) ?? flags
      // Its first field is the preferred lifetime.
      case IFA_CACHEINFO: isOver = bytes.number(attribute.value, as: UInt32.self) == 0
      default: break
      }
    }
    // Of a point-to-point link IFA_ADDRESS is the other end.
    guard index > 0, let address = local ?? peer else { return .ignored }
    if isRemoved { return .event(.addressRemoved(index: index, address, prefixLength: prefixLength)) }
    if isOver { flags |= InterfaceAddress.Flags.deprecated }
    return .event(
      .address(index: index, InterfaceAddress(address: address, prefixLength: prefixLength, flags: flags)))
  }

  static func ipAddress(_ bytes: RawSpan, _ range: Range<Int>, family: UInt8) -> IPAddress? {
    switch CInt(family) {
    case AF_INET: bytes.number(range, as: UInt32.self).map { .v4(UInt32(bigEndian: $0)) }
    case AF_INET6: bytes.number(range, as: UInt128.self).map { .v6(UInt128(bigEndian: $0)) }
    default: nil
    }
  }

  // MARK: Neighbours

  /// struct ndmsg: family, padding (3), index (4), state (2), flags, type.
  private static let neighbourHeaderLength = 12

  private static func neighbour(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard payload.count >= neighbourHeaderLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    let index = bytes.load(start + 4, as: Int32.self)
    let state = Int32(bytes.load(start + 8, as: UInt16.self))
    let isReachable: Bool
    switch state {
    case NUD_FAILED: isReachable = false
    case NUD_REACHABLE, NUD_STALE, NUD_DELAY, NUD_PROBE, NUD_NOARP, NUD_PERMANENT: isReachable = true
    // While the kernel looks for it, nothing is known.
    default: return .ignored
    }
    var cursor = NetlinkCursor((start + neighbourHeaderLength)..<payload.upperBound)
    while let attribute = cursor.nextAttribute(in: bytes) {
      guard attribute.type == NDA_DST else { continue }
      guard index > 0, let address = ipAddress(bytes, attribute.value, family: family) else { return .ignored }
      return .event(.neighbour(Neighbour(interfaceIndex: index, address: address), isReachable: isReachable))
    }
    return .ignored
  }

  // MARK: Hints

  private static func families(_ bytes: RawSpan, _ payload: Range<Int>) -> AddressFamilies {
    guard let family = bytes.number(payload, as: UInt8.self) else { return .none }
    switch CInt(family) {
    case AF_INET: return .ipv4
    case AF_INET6: return .ipv6
    // A group of next hops belongs to no family.
    case AF_UNSPEC: return .both
    default: return .none
    }
  }

  /// Routes, rules and next hops: their headers all begin with the family.
  private static func hint(_ bytes: RawSpan, _ payload: Range<Int>, isRemoval: Bool) -> Message {
    let families = families(bytes, payload)
    return families.isEmpty ? .ignored : .event(.routing(families, isRemoval: isRemoval))
  }

  /// Of the settings only one moves a lookup: whether routes over links without carrier count. There is no other word of it.
  private static func netconf(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    let attributes = min(payload.lowerBound + 4, payload.upperBound)
    var cursor = NetlinkCursor(attributes..<payload.upperBound)
    while let attribute = cursor.nextAttribute(in: bytes) {
      if attribute.type == NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN { return hint(bytes, payload, isRemoval: false) }
    }
    return .ignored
  }

  // MARK: Control

  private static func error(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    NetlinkFrames.errorCode(bytes, payload).map { .error(code: $0) } ?? .ignored
  }

  /// A listing can also end with an error, in the place of the length.
  private static func done(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    guard let code = bytes.number(payload, as: Int32.self), code < 0 else { return .done }
    return error(bytes, payload)
  }
}
