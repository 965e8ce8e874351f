/// The name of a wireless network: up to 32 bytes that a stranger has chosen, in no particular encoding.
///
/// Plain memory: it stands in every verdict, and an array would count its owners at each copy.
public struct SSID: Hashable, Sendable {
  /// What IEEE 802.11 leaves room for.
  public static let capacity = 32
  /// Zeros follow the name. A name may contain zeros itself, so that its length is kept.
  private var storage = SIMD32<UInt8>()
  private let length: UInt8

  /// Nil where there are more than 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.capacity else { return nil }
    length = UInt8(bytes.count)
    for (position, byte) in zip(0..<Self.capacity, bytes) { storage[position] = byte }
  }

  /// Nil where there are more than 32 bytes.
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount <= Self.capacity else { return nil }
    length = UInt8(bytes.byteCount)
    for position in 0..<bytes.byteCount {
      storage[position] = unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self)
    }
  }

  /// The number of bytes, 0 to 32.
  public var count: Int { Int(length) }

  /// The byte at a position from 0 up to ``count``.
  public subscript(position: Int) -> UInt8 {
    precondition(position < count, "beyond the name's end")
    return storage[position]
  }

  public var bytes: [UInt8] { (0..<count).map { storage[$0] } }

  /// For people: bytes that are not UTF-8 are replaced by U+FFFD, and control characters are still in it.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// For programs: two digits a byte, in lower case.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// What a network says that hides its name: nothing, or zeros in its place.
  package var isHidden: Bool { storage == SIMD32() }
}

extension SSID: CustomStringConvertible {
  public var description: String { text }
}
