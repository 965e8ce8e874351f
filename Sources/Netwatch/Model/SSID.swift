/// The name of a WiFi network: up to 32 bytes that a stranger has chosen, in no particular encoding.
///
/// The bytes are stored inline, so copying a path allocates nothing.
public struct SSID: Hashable, Sendable {
  /// The largest number of bytes in a name, by IEEE 802.11.
  public static let capacity = 32
  /// The bytes of the name, filled up with zeros, in two halves. One vector of 32 bytes would force its alignment on
  /// everything that contains a name. A name can contain zeros itself, so its length is kept.
  private var head = SIMD16<UInt8>()
  private var tail = SIMD16<UInt8>()
  private let length: UInt8

  /// Creates a name from bytes. Nil if there are more than 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.capacity else { return nil }
    length = UInt8(bytes.count)
    for (position, byte) in zip(0..<Self.capacity, bytes) { set(byte, at: position) }
  }

  /// Creates a name from bytes. Nil if there are more than 32 bytes.
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount <= Self.capacity else { return nil }
    length = UInt8(bytes.byteCount)
    for position in 0..<bytes.byteCount {
      set(unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self), at: position)
    }
  }

  /// The number of bytes, 0 to 32.
  public var count: Int { Int(length) }

  /// The byte at a position from 0 up to, but not including, ``count``. Any other position stops the program.
  public subscript(position: Int) -> UInt8 {
    precondition(position < count, "beyond the name's end")
    return position < 16 ? head[position] : tail[position - 16]
  }

  private mutating func set(_ byte: UInt8, at position: Int) {
    if position < 16 { head[position] = byte } else { tail[position - 16] = byte }
  }

  /// The bytes of the name.
  public var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// The name for people. Bytes that are not UTF-8 are replaced by U+FFFD; control characters are kept.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The name for programs: two hexadecimal digits per byte, in lower case.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Whether the network hides its name: it sends an empty one, or zeros instead.
  package var isHidden: Bool { head == SIMD16() && tail == SIMD16() }
}

extension SSID: CustomStringConvertible {
  /// The name for people, as ``text``.
  public var description: String { text }
}
