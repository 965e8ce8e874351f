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

  package mutating func appendDecimal(_ value: UInt64) {
    guard value < 1_000 else { return appendDecimal(value, digits: 1) }
    // Nearly all values are small: the octets of addresses, the indices of links.
    let small = UInt32(truncatingIfNeeded: value)
    guard small >= 10 else { return append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: small)) }
    reserve(3)
    let hundreds = small / 100
    if hundreds > 0 {
      unsafe storage[count] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: hundreds)
      count &+= 1
    }
    put(pair: small &- hundreds &* 100, at: count)
    count &+= 2
  }

  /// Writes the two digits of a number below 100. There must be room for them.
  @inline(__always) private mutating func put(pair: UInt32, at position: Int) {
    // A tenth of a number below 100, which touches no table.
    let tens = (pair &* 103) &>> 10
    let ones = pair &- tens &* 10
    unsafe storage.storeBytes(
      of: UInt16(truncatingIfNeeded: tens | ones &<< 8).littleEndian &+ 0x3030, toByteOffset: position, as: UInt16.self)
  }

  /// Appends a decimal number with leading zeros up to `digits`.
  @inline(never) package mutating func appendDecimal(_ value: UInt64, digits: Int) {
    // Two digits at a time, the last ones first, at the end of the room for the longest number, which has 20 digits; then the number
    // is moved to the front. To count its digits first would take three times as much code, which no cache has yet.
    let room = max(20, digits &+ 1)
    reserve(room)
    let end = count &+ room
    var position = end
    var rest = value
    // As often for each fraction of a second: the profile of `contrib/training` must be the same each time.
    repeat {
      position &-= 2
      put(pair: UInt32(truncatingIfNeeded: rest % 100), at: position)
      rest /= 100
    } while rest > 0 || end &- position < digits
    if end &- position > digits, unsafe storage[position] == UInt8(ascii: "0") { position &+= 1 }
    let length = end &- position
    if let base = unsafe storage.baseAddress {
      unsafe (base + count).copyMemory(from: base + position, byteCount: length)
    }
    count &+= length
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
