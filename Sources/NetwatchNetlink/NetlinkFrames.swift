import CLibNetlink

/// What the messages of every netlink family have in common: struct nlmsghdr, one behind the other, and how one is refused.
enum NetlinkFrames {
  /// Length (4), type (2), flags (2), sequence (4), port (4).
  private static let headerLength = 16

  /// Calls `body` with each message of a datagram, in order: its header, and where its content and the whole of it lie.
  ///
  /// Inlined: this is on the way of every event.
  @inline(__always)
  static func forEach(
    in bytes: RawSpan, _ body: (NetlinkDecoder.Header, _ payload: Range<Int>, _ record: Range<Int>) -> Void
  ) {
    var cursor = NetlinkCursor(0..<bytes.byteCount)
    while cursor.hasRoom(for: headerLength) {
      let start = cursor.offset
      let length = Int(bytes.load(start, as: UInt32.self))
      let flags = bytes.load(start + 6, as: UInt16.self)
      let header = NetlinkDecoder.Header(
        type: bytes.load(start + 4, as: UInt16.self), sequence: bytes.load(start + 8, as: UInt32.self),
        isInterrupted: flags & UInt16(NLM_F_DUMP_INTR) != 0)
      guard let record = cursor.next(length: length, header: headerLength) else { return }
      body(header, (start + headerLength)..<record.upperBound, record)
    }
  }

  /// The code of a refusal, without its sign; nil where there is no room for one.
  static func errorCode(_ bytes: RawSpan, _ payload: Range<Int>) -> Int32? {
    bytes.number(payload, as: Int32.self).map { $0 == .min ? .max : abs($0) }
  }
}
