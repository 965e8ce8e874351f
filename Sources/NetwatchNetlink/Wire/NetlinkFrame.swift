import CLibNetlink

/// What the messages of every netlink family have in common: struct nlmsghdr, and where the content lies.
struct NetlinkFrame: Hashable {
  enum Kind: Hashable {
    /// A message of the family's own.
    case payload
    /// The end of a listing.
    case done
    /// A refusal, or with code 0 an acknowledgement.
    case error(code: Int32)
    /// Messages were dropped: by the kernel, or inside this socket (NLMSG_OVERRUN).
    case overrun
  }

  let kind: Kind
  let type: UInt16
  let sequence: UInt32
  /// The tables changed while this listing was made.
  let isInterrupted: Bool
  /// Where the content lies, behind the header.
  let payload: Range<Int>
  /// Where the whole lies.
  let record: Range<Int>

  /// What stands for a datagram that the kernel dropped.
  static var overrun: NetlinkFrame {
    NetlinkFrame(
      kind: .overrun, type: UInt16(NLMSG_OVERRUN), sequence: 0, isInterrupted: false, payload: 0..<0, record: 0..<0)
  }

  /// Length (4), type (2), flags (2), sequence (4), port (4).
  private static let headerLength = 16

  /// Calls `body` with each message of a datagram, in order. A message that is too short, or that lies about its length, ends it.
  ///
  /// Inlined: this is on the way of every event.
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

  /// A refusal without room for a code is nothing that anybody knows.
  private static func control(_ type: UInt16, _ bytes: RawSpan, _ payload: Range<Int>) -> Kind {
    let code = bytes.number(payload, as: Int32.self)
    switch CInt(type) {
    case NLMSG_OVERRUN: return .overrun
    // A listing can also end with an error, in the place of the length.
    case NLMSG_DONE where code ?? 0 >= 0: return .done
    case NLMSG_DONE, NLMSG_ERROR: return code.map { .error(code: $0 == .min ? .max : abs($0)) } ?? .payload
    default: return .payload
    }
  }
}
