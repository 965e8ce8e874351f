/// A link's name as the kernel's bytes, at most 15 of them.
///
/// Plain memory: it stands in every verdict, and a string would count its owners at each copy.
package struct InterfaceName: Hashable, Sendable {
  /// IFNAMSIZ, the zero at the end included.
  package static let capacity = 16
  /// Zeros follow the name.
  private var bytes = SIMD16<UInt8>()

  /// Ends at the first zero; what is too long is cut off.
  package init(_ text: String) {
    for (position, byte) in text.utf8.prefix(while: { $0 != 0 }).prefix(Self.capacity - 1).enumerated() {
      bytes[position] = byte
    }
  }

  /// Ends at the first zero, or after 15 bytes.
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

  /// Bytes that are not UTF-8 are replaced by U+FFFD.
  package var text: String {
    String(decoding: (0..<count).map { bytes[$0] }, as: UTF8.self)
  }
}
