import CLibNetlink
import Netwatch

/// Decodes the options of router advertisements that the kernel passes on (RTM_NEWNDUSEROPT).
extension NetlinkDecoder {
  /// struct nduseroptmsg: family, padding, length of the options (2), index (4), ICMP type, ICMP code, padding (6).
  private static let routerOptionHeaderLength = 16
  /// ND_ROUTER_ADVERT of RFC 4861.
  private static let routerAdvertisement: UInt8 = 134
  /// The option of RFC 8910, section 2.3.
  private static let captivePortalOption: UInt8 = 37
  /// The option of RFC 8106, section 5.1.
  private static let nameServersOption: UInt8 = 25
  /// The option of RFC 8781, section 4.
  private static let translationPrefixOption: UInt8 = 38
  /// The lifetime that never ends.
  private static let forever = UInt32.max

  /// Returns the option in a message; nil if it is none of those that matter, or malformed.
  package static func routerOption(_ frame: NetlinkMessage, _ bytes: RawSpan) -> RouterOption? {
    let payload = frame.payload
    guard Int(frame.type) == RTM_NEWNDUSEROPT, payload.count >= routerOptionHeaderLength + 2 else { return nil }
    let start = payload.lowerBound
    let length = Int(bytes.load(start + 2, as: UInt16.self))
    let index = bytes.load(start + 4, as: Int32.self)
    guard bytes.load(start, as: UInt8.self) == UInt8(AF_INET6), index > 0,
      bytes.load(start + 8, as: UInt8.self) == routerAdvertisement, bytes.load(start + 9, as: UInt8.self) == 0
    else { return nil }
    // There is one option in a message: its type, its length in units of eight bytes, and its value.
    let option = start + routerOptionHeaderLength
    let end = option + Int(bytes.load(option + 1, as: UInt8.self)) * 8
    guard option + 8 <= end, end <= option + length, end <= payload.upperBound else { return nil }
    return content(of: option..<end, bytes).map { RouterOption(interfaceIndex: index, content: $0) }
  }

  private static func content(of option: Range<Int>, _ bytes: RawSpan) -> RouterOption.Content? {
    switch bytes.load(option.lowerBound, as: UInt8.self) {
    case captivePortalOption:
      let uri = option.dropFirst(2).map { bytes.load($0, as: UInt8.self) }.prefix { $0 != 0 }
      return PortalAPI(String(decoding: uri, as: UTF8.self)).map { .captivePortal($0) }
    case nameServersOption:
      // The lifetime is at byte 4, and the addresses follow it.
      let lifetime = UInt32(bigEndian: bytes.load(option.lowerBound + 4, as: UInt32.self))
      let servers = stride(from: option.lowerBound + 8, through: option.upperBound - 16, by: 16).map {
        InternetAddress.v6(UInt128(bigEndian: bytes.load($0, as: UInt128.self)))
      }
      return servers.isEmpty
        ? nil : .nameServers(servers, lifetime: lifetime == forever ? nil : .seconds(Int64(lifetime)))
    case translationPrefixOption:
      // Thirteen bits are the lifetime in units of eight seconds, three are the code of the length, and the upper 96 bits of the prefix
      // follow.
      guard option.count == 16 else { return nil }
      let word = UInt16(bigEndian: bytes.load(option.lowerBound + 2, as: UInt16.self))
      let bits = (option.lowerBound + 4..<option.upperBound).reduce(UInt128(0)) {
        $0 << 8 | UInt128(bytes.load($1, as: UInt8.self))
      }
      return NAT64Prefix(bits: bits << 32, code: UInt8(word & 7)).map {
        .translationPrefix($0, lifetime: .seconds(Int64(word >> 3) * 8))
      }
    default: return nil
    }
  }
}
