import CLibNetlink
import Glibc
import Netwatch

/// Builds netlink messages attribute by attribute.
struct MessageBuilder {
  private(set) var bytes: [UInt8]

  init(type: Int, flags: Int = 0, sequence: UInt32 = 0) {
    bytes =
      Self.raw(UInt32(0)) + Self.raw(UInt16(type)) + Self.raw(UInt16(flags)) + Self.raw(sequence) + Self.raw(UInt32(0))
    setLength()
  }

  static func raw<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
    (0..<Value.bitWidth / 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private mutating func setLength() {
    bytes.replaceSubrange(0..<4, with: Self.raw(UInt32(bytes.count)))
  }

  mutating func append(_ raw: [UInt8]) {
    bytes += raw
    setLength()
  }

  mutating func attribute(_ type: Int, _ value: [UInt8]) {
    bytes += Self.attribute(type, value)
    setLength()
  }

  mutating func attribute(_ type: Int, number: some FixedWidthInteger) { attribute(type, Self.raw(number)) }
  mutating func attribute(_ type: Int, text: String) { attribute(type, Array(text.utf8) + [0]) }
  mutating func attribute(_ type: Int, _ address: InternetAddress) { attribute(type, address.networkOrder) }

  static func attribute(_ type: Int, _ value: [UInt8]) -> [UInt8] {
    let padding = [UInt8](repeating: 0, count: (4 - value.count % 4) % 4)
    return raw(UInt16(4 + value.count)) + raw(UInt16(type)) + value + padding
  }

  // MARK: Whole messages

  static func link(
    _ index: Int32, type: Int = RTM_NEWLINK, family: Int32 = AF_UNSPEC, hardwareType: UInt16 = 1,
    flags: UInt32 = 0x1_1043,
    _ fill: (inout MessageBuilder) -> Void = { _ in }
  ) -> [UInt8] {
    var message = MessageBuilder(type: type)
    message.append([UInt8(family), 0] + raw(hardwareType) + raw(index) + raw(flags) + raw(UInt32(0)))
    fill(&message)
    return message.bytes
  }

  static func address(
    _ index: Int32, type: Int = RTM_NEWADDR, family: Int32 = AF_INET, prefixLength: UInt8 = 24, flags: UInt8 = 0,
    _ fill: (inout MessageBuilder) -> Void
  ) -> [UInt8] {
    var message = MessageBuilder(type: type)
    message.append([UInt8(family), prefixLength, flags, 0] + raw(index))
    fill(&message)
    return message.bytes
  }

  static func route(
    type: Int = RTM_NEWROUTE, family: Int32 = AF_INET, prefixLength: UInt8 = 0, kind: Int = RTN_UNICAST,
    _ fill: (inout MessageBuilder) -> Void = { _ in }
  ) -> [UInt8] {
    var message = MessageBuilder(type: type)
    message.append([UInt8(family), prefixLength, 0, 0, 254, 3, 0, UInt8(kind)] + raw(UInt32(0)))
    fill(&message)
    return message.bytes
  }
}

extension InternetAddress {
  var networkOrder: [UInt8] {
    switch self {
    case .v4(let bits): MessageBuilder.raw(bits.bigEndian)
    case .v6(let bits): MessageBuilder.raw(bits.bigEndian)
    }
  }
}
