/// An IPv4 or IPv6 address.
public enum IPAddress: Hashable, Sendable {
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
  package func shares(_ prefixLength: UInt8, with other: IPAddress) -> Bool {
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
  package static func unspecified(_ family: AddressFamily) -> IPAddress { family == .ipv4 ? .v4(0) : .v6(0) }

  /// Whether the address is the unspecified one: 0.0.0.0 or ::.
  public var isUnspecified: Bool {
    switch self {
    case .v4(let bits): bits == 0
    case .v6(let bits): bits == 0
    }
  }
}
