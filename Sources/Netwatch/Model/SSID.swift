/// The name of a wireless network: up to 32 bytes that a stranger has chosen, in no particular encoding.
///
/// Plain memory: it stands in every verdict, and an array would count its owners at each copy.
public struct SSID: Hashable, Sendable {
  /// What IEEE 802.11 leaves room for.
  public static let capacity = 32
  /// Zeros follow the name. A name may contain zeros itself, so that its length is kept. Two halves: one vector of 32 bytes
  /// would want to be aligned so, and everything that holds a name with it.
  private var head = SIMD16<UInt8>()
  private var tail = SIMD16<UInt8>()
  private let length: UInt8

  /// Nil where there are more than 32 bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count <= Self.capacity else { return nil }
    length = UInt8(bytes.count)
    for (position, byte) in zip(0..<Self.capacity, bytes) { set(byte, at: position) }
  }

  /// Nil where there are more than 32 bytes.
  public init?(_ bytes: RawSpan) {
    guard bytes.byteCount <= Self.capacity else { return nil }
    length = UInt8(bytes.byteCount)
    for position in 0..<bytes.byteCount {
      set(unsafe bytes.unsafeLoad(fromByteOffset: position, as: UInt8.self), at: position)
    }
  }

  /// The number of bytes, 0 to 32.
  public var count: Int { Int(length) }

  /// The byte at a position from 0 up to ``count``.
  public subscript(position: Int) -> UInt8 {
    precondition(position < count, "beyond the name's end")
    return position < 16 ? head[position] : tail[position - 16]
  }

  private mutating func set(_ byte: UInt8, at position: Int) {
    if position < 16 { head[position] = byte } else { tail[position - 16] = byte }
  }

  public var bytes: [UInt8] { (0..<count).map { self[$0] } }

  /// For people: bytes that are not UTF-8 are replaced by U+FFFD, and control characters are still in it.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// For programs: two digits a byte, in lower case.
  public var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// What a network says that hides its name: nothing, or zeros in its place.
  package var isHidden: Bool { head == SIMD16() && tail == SIMD16() }
}

extension SSID: CustomStringConvertible {
  public var description: String { text }
}
