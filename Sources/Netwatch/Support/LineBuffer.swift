/// A buffer for one line of UTF-8 text after another, in memory that is reused.
package struct LineBuffer: ~Copyable {
  private var bytes: [UInt8] = []

  /// Creates an empty buffer.
  ///
  /// - Parameter capacity: The size in bytes. The buffer grows as needed and never shrinks.
  package init(capacity: Int = 1024) { bytes.reserveCapacity(capacity) }

  package var count: Int { bytes.count }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package subscript(position: Int) -> UInt8 { bytes[position] }

  package func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(bytes.span.bytes)
  }

  /// Returns whether both buffers contain the same bytes.
  package func equals(_ other: borrowing LineBuffer) -> Bool { bytes == other.bytes }

  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  package mutating func removeLast(_ length: Int) { bytes.removeLast(min(length, count)) }

  package mutating func append(_ byte: UInt8) { bytes.append(byte) }

  package mutating func append(_ literal: StaticString) {
    literal.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
  }

  package mutating func append(text: String) { bytes.append(contentsOf: text.utf8) }

  package mutating func append(_ other: borrowing LineBuffer) { bytes.append(contentsOf: other.bytes) }

  /// Appends a part of another buffer.
  package mutating func append(_ other: borrowing LineBuffer, _ range: Range<Int>) {
    bytes.append(contentsOf: other.bytes[range])
  }

  /// Appends a decimal number with leading zeros up to `digits`.
  package mutating func appendDecimal(_ value: UInt64, digits: Int = 1) {
    if value >= 10 || digits > 1 { appendDecimal(value / 10, digits: digits - 1) }
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }

  /// Appends a hexadecimal number in lower case, with leading zeros up to `digits`.
  package mutating func appendHex(_ value: UInt16, digits: Int = 1) {
    if value >= 16 || digits > 1 { appendHex(value >> 4, digits: digits - 1) }
    let digit = UInt8(truncatingIfNeeded: value & 0xf)
    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
  }
}
