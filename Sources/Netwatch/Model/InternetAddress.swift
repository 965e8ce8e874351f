import NetwatchLibC

/// An IPv4 or IPv6 address.
public enum InternetAddress: Hashable, Sendable {
  /// An IPv4 address: four bytes, the first one is the most significant.
  case v4(UInt32)
  /// An IPv6 address: sixteen bytes, the first one is the most significant.
  case v6(UInt128)

  /// The address family: IPv4 or IPv6.
  public var family: AddressFamily {
    switch self {
    case .v4: .ipv4
    case .v6: .ipv6
    }
  }

  /// Whether the address is a loopback address: 127/8 or ::1.
  public var isLoopback: Bool {
    switch self {
    case .v4(let bits): bits >> 24 == 127
    case .v6(let bits): bits == 1
    }
  }

  /// Whether the address is link-local: 169.254/16 or fe80::/10.
  public var isLinkLocal: Bool {
    switch self {
    case .v4(let bits): bits >> 16 == 0xa9fe
    case .v6(let bits): bits >> 118 == 0x3fa
    }
  }

  /// Returns whether the first `prefixLength` bits equal those of another address of the same family.
  package func shares(_ prefixLength: UInt8, with other: InternetAddress) -> Bool {
    switch (self, other) {
    case (.v4(let one), .v4(let two)): (one ^ two) >> (32 - min(UInt32(prefixLength), 32)) == 0
    case (.v6(let one), .v6(let two)): (one ^ two) >> (128 - min(UInt128(prefixLength), 128)) == 0
    default: false
    }
  }

  /// Whether the address is in 192.0.0.0/29: this machine's end of 464XLAT or of DS-Lite (RFC 7335).
  var isTranslated: Bool { shares(29, with: .v4(0xc000_0000)) }

  /// Whether the address is a multicast address: 224/4 or ff00::/8.
  public var isMulticast: Bool {
    switch self {
    case .v4(let bits): bits >> 28 == 0xe
    case .v6(let bits): bits >> 120 == 0xff
    }
  }

  /// Returns the address `0.0.0.0` or `::`.
  package static func unspecified(_ family: AddressFamily) -> InternetAddress { family == .ipv4 ? .v4(0) : .v6(0) }

  /// Whether the address is the unspecified one: 0.0.0.0 or ::.
  public var isUnspecified: Bool {
    switch self {
    case .v4(let bits): bits == 0
    case .v6(let bits): bits == 0
    }
  }
}

/// An address family: IPv4 or IPv6. Routes are looked up in each family separately.
public enum AddressFamily: Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// IPv4 or IPv6.
  case ipv4, ipv6

  /// The name of the family: `IPv4` or `IPv6`.
  public var description: String { self == .ipv4 ? "IPv4" : "IPv6" }
}

/// A set of address families: none, one or both.
package struct AddressFamilies: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static var ipv4: AddressFamilies { AddressFamilies(rawValue: 1) }
  package static var ipv6: AddressFamilies { AddressFamilies(rawValue: 2) }
  package static var both: AddressFamilies { AddressFamilies(rawValue: 3) }
  package static var none: AddressFamilies { AddressFamilies(rawValue: 0) }

  package init(_ family: AddressFamily) {
    self = family == .ipv4 ? .ipv4 : .ipv6
  }

  package func contains(_ family: AddressFamily) -> Bool { contains(AddressFamilies(family)) }
  /// Whether the set is empty. Declared here because the protocol's own property goes by a witness table in other modules.
  package var isEmpty: Bool { rawValue == 0 }
}

extension InternetAddress: CustomStringConvertible, LosslessStringConvertible {
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
      InternetAddress.v4(UInt32(truncatingIfNeeded: bits)).write(to: &text)
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
