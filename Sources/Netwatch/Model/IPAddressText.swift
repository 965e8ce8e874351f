import Glibc

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
  /// Reads dotted decimal, or RFC 4291 text without a zone. Nil for everything else.
  public init?(_ text: String) {
    var v4 = in_addr()
    var v6 = in6_addr()
    if unsafe inet_pton(AF_INET, text, &v4) == 1 {
      self = .v4(UInt32(bigEndian: v4.s_addr))
    } else if unsafe inet_pton(AF_INET6, text, &v6) == 1 {
      let bits = unsafe withUnsafeBytes(of: &v6) { unsafe $0.loadUnaligned(as: UInt128.self) }
      self = .v6(UInt128(bigEndian: bits))
    } else {
      return nil
    }
  }

  public var description: String {
    var text: [UInt8] = []
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the text, IPv6 as RFC 5952 has it, without allocating where `text` has room for 39 bytes.
  package func write(to text: inout [UInt8]) {
    switch self {
    case .v4(let bits):
      for byte: UInt32 in 0..<4 {
        if byte > 0 { text.append(UInt8(ascii: ".")) }
        text.appendDecimal(UInt64(bits >> (24 - 8 * byte) & 0xff))
      }
    case .v6(let bits) where bits >> 32 == 0xffff:
      text.append(contentsOf: "::ffff:".utf8)
      IPAddress.v4(UInt32(truncatingIfNeeded: bits)).write(to: &text)
    case .v6(let bits):
      let zeros = Self.longestZeroRun(bits)
      var group = 0
      while group < 8 {
        if group == zeros.start, zeros.count > 1 {
          text.append(contentsOf: "::".utf8)
          group += zeros.count
          continue
        }
        if group > 0, group != zeros.start + zeros.count || zeros.count < 2 { text.append(UInt8(ascii: ":")) }
        text.appendHex(Self.group(group, of: bits))
        group += 1
      }
    }
  }

  private static func group(_ index: Int, of bits: UInt128) -> UInt16 {
    UInt16(truncatingIfNeeded: bits >> UInt128(112 - 16 * index))
  }

  /// The first of the longest runs of zero groups: what `::` stands for.
  private static func longestZeroRun(_ bits: UInt128) -> (start: Int, count: Int) {
    var best = (start: 8, count: 0)
    var run = 0
    for index in 0..<8 {
      run = group(index, of: bits) == 0 ? run + 1 : 0
      if run > best.count { best = (index - run + 1, run) }
    }
    return best
  }
}

extension [UInt8] {
  /// Appends a number in decimal digits.
  package mutating func appendDecimal(_ value: UInt64) {
    if value >= 10 { appendDecimal(value / 10) }
    append(UInt8(ascii: "0") + UInt8(value % 10))
  }

  /// Appends a number in lower-case hexadecimal digits, without leading zeros.
  fileprivate mutating func appendHex(_ value: UInt16) {
    if value >= 16 { appendHex(value >> 4) }
    let digit = UInt8(value & 0xf)
    append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
  }
}
