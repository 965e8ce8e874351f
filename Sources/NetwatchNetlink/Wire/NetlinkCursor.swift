/// Walks length-prefixed, four-byte aligned records: messages and attributes alike. Every length is input.
struct NetlinkCursor {
  private(set) var offset: Int
  private let end: Int

  init(_ range: Range<Int>) {
    offset = range.lowerBound
    end = range.upperBound
  }

  /// The bounds of the next record with a header of `header` bytes, or nil at the end and where the length is a lie.
  mutating func next(length: Int, header: Int) -> Range<Int>? {
    guard length >= header, length <= end - offset else { return nil }
    let record = offset..<(offset + length)
    offset = min(end, offset + (length + 3) & ~3)
    return record
  }

  func hasRoom(for count: Int) -> Bool { end - offset >= count }
}

/// One attribute: its type without the flags, and where its value lies.
struct NetlinkAttribute {
  let type: Int
  let value: Range<Int>
}

extension NetlinkCursor {
  private static let attributeHeader = 4
  /// NLA_F_NESTED and NLA_F_NET_BYTEORDER are not part of the type.
  private static let typeMask: UInt16 = 0x3fff

  mutating func nextAttribute(in bytes: RawSpan) -> NetlinkAttribute? {
    guard hasRoom(for: Self.attributeHeader) else { return nil }
    let type = bytes.load(offset + 2, as: UInt16.self) & Self.typeMask
    guard let record = next(length: Int(bytes.load(offset, as: UInt16.self)), header: Self.attributeHeader) else {
      return nil
    }
    return NetlinkAttribute(type: Int(type), value: (record.lowerBound + Self.attributeHeader)..<record.upperBound)
  }
}

extension RawSpan {
  /// Reads a number in the machine's own byte order. `offset` must lie inside: it is checked, and a lie traps, so callers
  /// check lengths first.
  func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }

  /// A number that fills an attribute, or nil where it is shorter.
  func number<Value: FixedWidthInteger & BitwiseCopyable>(_ range: Range<Int>, as type: Value.Type) -> Value? {
    range.count >= MemoryLayout<Value>.size ? load(range.lowerBound, as: type) : nil
  }

  /// Text up to the first zero byte. What is not UTF-8 is replaced. Up to 15 bytes take no allocation.
  func text(_ range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBytes { bytes in
      let end = unsafe bytes.firstIndex(of: 0) ?? bytes.endIndex
      return unsafe String(decoding: bytes[..<end], as: UTF8.self)
    }
  }
}
