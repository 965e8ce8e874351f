import NetlinkWire
import Netwatch

/// Decodes the elements of IEEE 802.11 as they were received by radio: a byte of kind, a byte of length, the content.
///
/// Anybody in range can send any bytes. An element that is longer than the rest ends the list.
enum InformationElements {
  /// The name of the network.
  private static let ssid: UInt8 = 0
  /// An element that begins with three bytes of a vendor and a byte of type.
  private static let vendorSpecific: UInt8 = 221
  /// 00:50:F2 type 0x11: "Network Cost Information Element" of Microsoft's MS-NCT.
  private static let networkCost: UInt32 = 0x0050_f211
  /// 00:17:F2 type 6: sent by hotspots of iPhones, and of other phones that imitate them. There is no public specification; the
  /// items were found in captures.
  private static let appleDevice: UInt32 = 0x0017_f206
  /// The item of an Apple element that lists the features of the hotspot.
  private static let appleFeatures: UInt8 = 1

  static func forEach(in bytes: RawSpan, _ elements: Range<Int>, _ body: (_ kind: UInt8, _ content: Range<Int>) -> Void)
  {
    var offset = elements.lowerBound
    while elements.upperBound - offset >= 2 {
      let content = offset + 2
      let end = content + Int(bytes.load(offset + 1, as: UInt8.self))
      guard end <= elements.upperBound else { return }
      body(bytes.load(offset, as: UInt8.self), content..<end)
      offset = end
    }
  }

  /// Returns the position of the first name of a network; nil if there is none.
  static func name(in bytes: RawSpan, _ elements: Range<Int>) -> Range<Int>? {
    var name: Range<Int>?
    forEach(in: bytes, elements) { kind, content in
      if kind == ssid, name == nil { name = content }
    }
    return name
  }

  /// Returns the element that marks the network as metered; nil if there is none.
  static func meteredMark(in bytes: RawSpan, _ elements: Range<Int>) -> MeteredMark? {
    var mark: MeteredMark?
    forEach(in: bytes, elements) { kind, content in
      guard kind == vendorSpecific, content.count >= 4 else { return }
      let vendor = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes.load(content.lowerBound + $1, as: UInt8.self)) }
      switch vendor {
      case networkCost where isMetered(bytes, content.dropFirst(4)): mark = .networkCost
      case appleDevice where isHotspot(bytes, content.dropFirst(4)): mark = mark ?? .personalHotspot
      default: break
      }
    }
    return mark
  }

  /// Reads a cost element: cost level, reserved, cost flags, reserved, one byte each. Levels: 0 unknown, 1 unrestricted, 2
  /// fixed, 4 variable.
  ///
  /// Older access points send the four bytes as one number, the highest byte first, so that the level is the last byte.
  private static func isMetered(_ bytes: RawSpan, _ cost: Range<Int>) -> Bool {
    guard cost.count >= 4 else { return false }
    let (first, last) = (bytes.load(cost.lowerBound, as: UInt8.self), bytes.load(cost.lowerBound + 3, as: UInt8.self))
    return (first == 0 ? last : first) > 1
  }

  /// Reads items of a type, a version, a length and that many bytes.
  private static func isHotspot(_ bytes: RawSpan, _ items: Range<Int>) -> Bool {
    var offset = items.lowerBound
    while items.upperBound - offset >= 3 {
      let length = Int(bytes.load(offset + 2, as: UInt8.self))
      guard length <= items.upperBound - offset - 3 else { return false }
      if bytes.load(offset, as: UInt8.self) == appleFeatures, length > 0 { return true }
      offset += 3 + length
    }
    return false
  }
}
