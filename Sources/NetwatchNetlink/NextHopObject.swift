import CLibNetlink
import Netwatch

/// A next-hop object (`ip nexthop`), or a group of them.
package struct NextHopObject: Hashable, Sendable {
  package var interfaceIndex: Int32 = 0
  package var gateway: IPAddress?
  /// The numbers of a group's members.
  package var members: [UInt32] = []
  package var isBlackhole = false

  /// struct nhmsg: family, scope, protocol, reserved, flags (4).
  private static let headerLength = 8
  /// struct nexthop_grp: number (4), weight and reserved bytes.
  private static let memberLength = 8

  static func decode(_ bytes: RawSpan, _ payload: Range<Int>) -> NetlinkDecoder.Message {
    guard payload.count >= headerLength else { return .ignored }
    let start = payload.lowerBound
    let family = bytes.load(start, as: UInt8.self)
    var object = NextHopObject()
    var cursor = NetlinkCursor((start + headerLength)..<payload.upperBound)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case NHA_OIF: object.interfaceIndex = bytes.number(attribute.value, as: Int32.self) ?? 0
      case NHA_GATEWAY: object.gateway = NetlinkDecoder.ipAddress(bytes, attribute.value, family: family)
      case NHA_BLACKHOLE: object.isBlackhole = true
      case NHA_GROUP:
        object.members = stride(
          from: attribute.value.lowerBound, through: attribute.value.upperBound - memberLength, by: memberLength
        ).map { bytes.load($0, as: UInt32.self) }
      default: break
      }
    }
    return .nextHop(object)
  }
}
