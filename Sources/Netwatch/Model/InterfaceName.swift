/// The name of a link as the kernel's bytes, at most 15 of them.
///
/// Plain memory: every verdict contains a name, and each copy of a string would change its reference count.
package struct InterfaceName: Hashable, Sendable {
  /// The size of the kernel's buffer (IFNAMSIZ), including the zero at the end.
  package static let capacity = 16
  /// The bytes of the name, filled up with zeros.
  private var bytes = SIMD16<UInt8>()

  /// Creates a name from text. The name ends at the first zero and is cut after 15 bytes.
  package init(_ text: String) {
    for (position, byte) in text.utf8.prefix(while: { $0 != 0 }).prefix(Self.capacity - 1).enumerated() {
      bytes[position] = byte
    }
  }

  /// Creates a name from bytes. The name ends at the first zero or after 15 bytes.
  package init(_ text: RawSpan) {
    for position in 0..<min(text.byteCount, Self.capacity - 1) {
      let byte = unsafe text.unsafeLoad(fromByteOffset: position, as: UInt8.self)
      if byte == 0 { break }
      bytes[position] = byte
    }
  }

  package var count: Int {
    var count = 0
    while count < Self.capacity - 1, bytes[count] != 0 { count += 1 }
    return count
  }

  package subscript(position: Int) -> UInt8 { bytes[position] }

  /// Compares both halves of the names at once. The synthesized comparison takes 130 instructions.
  package static func == (left: InterfaceName, right: InterfaceName) -> Bool {
    let left = unsafe unsafeBitCast(left.bytes, to: SIMD2<UInt64>.self)
    let right = unsafe unsafeBitCast(right.bytes, to: SIMD2<UInt64>.self)
    return left.x == right.x && left.y == right.y
  }

  /// The name as text. Bytes that are not UTF-8 are replaced by U+FFFD.
  package var text: String {
    String(decoding: (0..<count).map { bytes[$0] }, as: UTF8.self)
  }
}
