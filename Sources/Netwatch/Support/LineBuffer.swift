import Glibc

/// A buffer for one line of UTF-8 text after another, in memory that is reused.
///
/// An array of bytes would cost four times as much, because it checks for other owners at each append. The calls that a line
/// consists of are inlinable: with the length of a literal known, a copy of it is a few instructions, and otherwise some fifty.
@usableFromInline @safe package struct LineBuffer: ~Copyable {
  @usableFromInline var storage: UnsafeMutableRawBufferPointer
  @usableFromInline package internal(set) var count = 0

  /// Creates an empty buffer.
  ///
  /// - Parameter capacity: The size in bytes. The buffer grows as needed and never shrinks.
  package init(capacity: Int = 1024) {
    unsafe storage = .allocate(byteCount: max(capacity, 64), alignment: 1)
  }

  deinit { unsafe storage.deallocate() }

  package mutating func removeAll() { count = 0 }

  package mutating func removeLast(_ length: Int) { count = max(0, count - length) }

  @inlinable package func withBytes<Result, Failure: Error>(
    _ body: (RawSpan) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe body(UnsafeRawBufferPointer(rebasing: storage[..<count]).bytes)
  }

  package var text: String {
    unsafe String(decoding: storage[..<count], as: UTF8.self)
  }

  /// Makes room for `length` more bytes.
  @inlinable @inline(__always) package mutating func reserve(_ length: Int) {
    if unsafe storage.count &- count < length { grow(by: length) }
  }

  @inlinable @inline(__always) package mutating func append(_ byte: UInt8) {
    reserve(1)
    unsafe storage[count] = byte
    count &+= 1
  }

  @inlinable @inline(__always) package mutating func append(_ literal: StaticString) {
    unsafe append(literal.utf8Start, literal.utf8CodeUnitCount)
  }

  package mutating func append(text: String) {
    var text = text
    text.withUTF8 { bytes in
      if let start = bytes.baseAddress { unsafe append(start, bytes.count) }
    }
  }

  package mutating func append(_ other: borrowing LineBuffer) {
    if let start = unsafe other.storage.baseAddress { unsafe append(start, other.count) }
  }

  /// Appends a part of another buffer.
  package mutating func append(_ other: borrowing LineBuffer, _ range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= other.count, "beyond the text's end")
    if let start = unsafe other.storage.baseAddress { unsafe append(start + range.lowerBound, range.count) }
  }

  package subscript(position: Int) -> UInt8 {
    precondition(position >= 0 && position < count, "beyond the text's end")
    return unsafe storage[position]
  }

  /// Returns whether both buffers contain the same bytes.
  package func equals(_ other: borrowing LineBuffer) -> Bool {
    guard count == other.count, let own = unsafe storage.baseAddress, let its = unsafe other.storage.baseAddress else {
      return false
    }
    return unsafe memcmp(own, its, count) == 0
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

  @inlinable @inline(__always) mutating func append(_ start: UnsafeRawPointer, _ length: Int) {
    reserve(length)
    if let base = unsafe storage.baseAddress {
      unsafe (base + count).copyMemory(from: start, byteCount: length)
    }
    count &+= length
  }

  @usableFromInline mutating func grow(by length: Int) {
    let larger = unsafe UnsafeMutableRawBufferPointer.allocate(byteCount: (storage.count + length) * 2, alignment: 1)
    unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
    unsafe storage.deallocate()
    unsafe storage = larger
  }
}
