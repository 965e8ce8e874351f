import CLibNetlink
import Netwatch

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
    var local: IPAddress?
    var peer: IPAddress?
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
