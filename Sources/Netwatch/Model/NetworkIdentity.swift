/// An ID of a network. It is the same whenever this machine is in that network, and tells nothing to anybody else.
///
/// The ID is made from the hardware address of the gateway and the network that the gateway is in, under a key of this
/// machine. Two machines therefore have two IDs for one network, and an ID in a log does not reveal where somebody was.
public struct NetworkIdentity: Hashable, Sendable, CustomStringConvertible {
  /// The facts that the kernel has about a network.
  package struct Facts: Hashable, Sendable {
    /// The hardware address of the gateway, six bytes.
    package var gateway: UInt64
    /// An address of the network, such as that of the gateway.
    package var address: InternetAddress
    /// The number of leading bits of ``address`` that name the network.
    package var prefixLength: UInt8

    package init(gateway: UInt64, address: InternetAddress, prefixLength: UInt8) {
      self.gateway = gateway
      self.address = address
      self.prefixLength = prefixLength
    }

    /// The bytes from which the ID is made. They include the family and the lengths, so that no two networks give the same
    /// bytes.
    fileprivate var message: [UInt8] {
      let (family, network): (UInt8, [UInt8])
      switch address {
      case .v4(let bits):
        let host = 32 - min(UInt32(prefixLength), 32)
        (family, network) = (4, Self.bytes((bits >> host) << host))
      case .v6(let bits):
        let host = 128 - min(UInt128(prefixLength), 128)
        (family, network) = (6, Self.bytes((bits >> host) << host))
      }
      return Array("netwatch network 1".utf8) + [family, prefixLength] + network + Self.bytes(gateway)
    }

    /// Returns the bytes of a number, the most significant byte first.
    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
      stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> Number($0)) }
    }
  }

  private static let digits = 16
  private let bits: UInt64

  /// Creates the ID of a network.
  ///
  /// - Parameter key: The key of this machine.
  package init(of facts: Facts, key: [UInt8]) {
    bits = SHA256.authenticationCode(of: facts.message, key: key).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Reads an ID that ``description`` has written. Nil if the text is something else.
  public init?(_ text: String) {
    guard text.utf8.count == Self.digits, text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
      let bits = UInt64(text, radix: 16)
    else { return nil }
    self.bits = bits
  }

  /// The ID as 16 hexadecimal digits in lower case.
  public var description: String {
    let text = String(bits, radix: 16)
    return String(repeating: "0", count: Self.digits - text.utf8.count) + text
  }
}
