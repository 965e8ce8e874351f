import Glibc

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
  /// Reads an IPv4 address in dotted decimal, or an IPv6 address as in RFC 4291 without a zone. Nil for any other text.
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

  /// The address as text; IPv6 as in RFC 5952.
  public var description: String {
    var text = LineBuffer(capacity: 64)
    write(to: &text)
    return text.text
  }

  /// Appends the address as text; IPv6 as in RFC 5952.
  package func write(to text: inout LineBuffer) {
    switch self {
    case .v4(let bits):
      for byte: UInt32 in 0..<4 {
        if byte > 0 { text.append(UInt8(ascii: ".")) }
        text.appendDecimal(UInt64(bits >> (24 - 8 * byte) & 0xff))
      }
    case .v6(let bits) where bits >> 32 == 0xffff:
      text.append("::ffff:")
      IPAddress.v4(UInt32(truncatingIfNeeded: bits)).write(to: &text)
    case .v6(let bits):
      let zeros = Self.longestZeroRun(bits)
      var group = 0
      while group < 8 {
        if group == zeros.start, zeros.count > 1 {
          text.append("::")
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

  /// The first of the longest runs of zero groups, which `::` stands for.
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
