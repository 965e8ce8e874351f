import CLibNetlink

/// The part that messages of every netlink family have in common: struct nlmsghdr, and the position of the content.
struct NetlinkFrame: Hashable {
  enum Kind: Hashable {
    /// A message of the family.
    case payload
    /// The end of a list.
    case done
    /// A refusal; with code 0, an acknowledgement.
    case error(code: Int32)
    /// Messages were dropped: by the kernel, or inside this socket (NLMSG_OVERRUN).
    case overrun
  }

  let kind: Kind
  let type: UInt16
  let sequence: UInt32
  /// Whether the tables changed while this list was made.
  let isInterrupted: Bool
  /// The position of the content after the header.
  let payload: Range<Int>
  /// The position of the whole message.
  let record: Range<Int>

  /// A frame that represents dropped messages.
  static var overrun: NetlinkFrame {
    NetlinkFrame(
      kind: .overrun, type: UInt16(NLMSG_OVERRUN), sequence: 0, isInterrupted: false, payload: 0..<0, record: 0..<0)
  }

  /// Length (4), type (2), flags (2), sequence (4), port (4).
  private static let headerLength = 16

  /// Calls `body` with each message of a datagram, in order. It stops at a message that is too short or gives a wrong length.
  ///
  /// Inlined, because every event passes through here.
  @inline(__always)
  static func forEach(in bytes: RawSpan, _ body: (NetlinkFrame) -> Void) {
    var cursor = NetlinkCursor(0..<bytes.byteCount)
    while cursor.hasRoom(for: headerLength) {
      let start = cursor.offset
      let length = Int(bytes.load(start, as: UInt32.self))
      guard let record = cursor.next(length: length, header: headerLength) else { return }
      let type = bytes.load(start + 4, as: UInt16.self)
      let payload = (start + headerLength)..<record.upperBound
      body(
        NetlinkFrame(
          kind: type < NLMSG_MIN_TYPE ? control(type, bytes, payload) : .payload, type: type,
          sequence: bytes.load(start + 8, as: UInt32.self),
          isInterrupted: bytes.load(start + 6, as: UInt16.self) & UInt16(NLM_F_DUMP_INTR) != 0, payload: payload,
          record: record))
    }
  }

  /// Returns the kind of a control message. A refusal that is too short for a code counts as a payload.
  private static func control(_ type: UInt16, _ bytes: RawSpan, _ payload: Range<Int>) -> Kind {
    let code = bytes.number(payload, as: Int32.self)
    switch CInt(type) {
    case NLMSG_OVERRUN: return .overrun
    // A list can also end with an error, which is in the place of the length.
    case NLMSG_DONE where code ?? 0 >= 0: return .done
    case NLMSG_DONE, NLMSG_ERROR: return code.map { .error(code: $0 == .min ? .max : abs($0)) } ?? .payload
    default: return .payload
    }
  }
}

/// Iterates over length-prefixed, four-byte aligned records: both messages and attributes. Every length is checked, because it
/// is input.
struct NetlinkCursor {
  private(set) var offset: Int
  private let end: Int

  init(_ range: Range<Int>) {
    offset = range.lowerBound
    end = range.upperBound
  }

  /// Returns the bounds of the next record with a header of `header` bytes; nil at the end or if the length is wrong.
  mutating func next(length: Int, header: Int) -> Range<Int>? {
    guard length >= header, length <= end - offset else { return nil }
    let record = offset..<(offset + length)
    offset = min(end, offset + (length + 3) & ~3)
    return record
  }

  func hasRoom(for count: Int) -> Bool { end - offset >= count }
}

extension RawSpan {
  /// Reads a number in the machine's byte order. `offset` must be inside the span: it is checked, and a wrong one traps, so
  /// callers check lengths first.
  func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }

  /// Reads the number in an attribute; nil if the attribute is too short.
  func number<Value: FixedWidthInteger & BitwiseCopyable>(_ range: Range<Int>, as type: Value.Type) -> Value? {
    range.count >= MemoryLayout<Value>.size ? load(range.lowerBound, as: type) : nil
  }

  /// Reads text up to the first zero byte. Bytes that are not UTF-8 are replaced. Up to 15 bytes need no allocation.
  func text(_ range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBytes { bytes in
      let end = unsafe bytes.firstIndex(of: 0) ?? bytes.endIndex
      return unsafe String(decoding: bytes[..<end], as: UTF8.self)
    }
  }

  /// Length (2), type (2).
  private static let attributeHeader = 4
  /// NLA_F_NESTED and NLA_F_NET_BYTEORDER are not part of the type.
  private static let typeMask: UInt16 = 0x3fff

  /// Calls `body` with each attribute of a range: its type and the position of its value. It stops at one that gives a wrong
  /// length.
  ///
  /// Inlined, because every event passes through here.
  @inline(__always)
  func forEachAttribute(in range: Range<Int>, _ body: (_ type: Int, _ value: Range<Int>) -> Void) {
    var cursor = NetlinkCursor(range)
    while cursor.hasRoom(for: Self.attributeHeader) {
      let start = cursor.offset
      guard let record = cursor.next(length: Int(load(start, as: UInt16.self)), header: Self.attributeHeader) else {
        return
      }
      body(Int(load(start + 2, as: UInt16.self) & Self.typeMask), (start + Self.attributeHeader)..<record.upperBound)
    }
  }

  /// Returns the position of the value of the first attribute of a type.
  func attribute(_ wanted: Int, in range: Range<Int>) -> Range<Int>? {
    var found: Range<Int>?
    forEachAttribute(in: range) { type, value in if type == wanted, found == nil { found = value } }
    return found
  }
}
