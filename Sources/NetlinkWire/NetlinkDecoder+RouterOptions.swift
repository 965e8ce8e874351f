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
    guard bytes.load(option, as: UInt8.self) == captivePortalOption else { return nil }
    let uri = (option + 2..<end).map { bytes.load($0, as: UInt8.self) }.prefix { $0 != 0 }
    return PortalAPI(String(decoding: uri, as: UTF8.self)).map {
      RouterOption(interfaceIndex: index, content: .captivePortal($0))
    }
  }
}
