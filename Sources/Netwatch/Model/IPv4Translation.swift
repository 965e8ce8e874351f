/// How the network that carries a path, or this machine, translates between IPv4 and IPv6.
public struct IPv4Translation: Hashable, Sendable {
  /// Who translates the IPv4 of this machine.
  public enum Translator: String, Hashable, Sendable {
    /// This machine itself, at its end of 464XLAT (RFC 6877): its programs use IPv4, and its packets are IPv6.
    case clat
    /// The network alone (NAT64, RFC 6146): this machine has no IPv4, and reaches IPv4 servers by addresses within the prefix.
    case nat64
    /// Nobody: this machine has an IPv4 of its own, though the network could translate.
    case none
  }

  /// The prefix by which the network translates, as its router advertises it (RFC 8781). Nil if it has not said so.
  public let prefix: NAT64Prefix?
  /// Who translates the IPv4 of this machine.
  public let translator: Translator

  package init(prefix: NAT64Prefix?, translator: Translator) { (self.prefix, self.translator) = (prefix, translator) }
}

/// The prefix of the IPv6 addresses that stand for IPv4 addresses in a network with NAT64 (RFC 6052).
public struct NAT64Prefix: Hashable, Sendable, CustomStringConvertible {
  /// The lengths that a prefix can have (RFC 6052, section 2.2), in the order of their codes in router advertisements (RFC 8781,
  /// section 4).
  private static let lengths: [UInt8] = [96, 64, 56, 48, 40, 32]

  /// The first address of the prefix.
  public let address: InternetAddress
  /// The number of bits of the prefix: 32, 40, 48, 56, 64 or 96.
  public let length: Int

  /// Creates a prefix from its bits, of which those after its length do not matter.
  ///
  /// - Parameter code: The code of the length in a router advertisement. Nil is returned for one that has no length.
  package init?(bits: UInt128, code: UInt8) {
    guard code < Self.lengths.count else { return nil }
    let length = Int(Self.lengths[Int(code)])
    address = .v6((bits >> (128 - length)) << (128 - length))
    self.length = length
  }

  /// Reads a prefix such as `64:ff9b::/96`.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let length = UInt8(parts[1]), let code = Self.lengths.firstIndex(of: length),
      case .v6(let bits)? = InternetAddress(String(parts[0]))
    else { return nil }
    self.init(bits: bits, code: UInt8(code))
  }

  /// The prefix as text, such as `64:ff9b::/96`.
  public var description: String { "\(address)/\(length)" }
}
