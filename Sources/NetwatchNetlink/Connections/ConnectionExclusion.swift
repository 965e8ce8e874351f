import Netwatch

/// Connections that do not count: `--activity-ignore`.
package enum ConnectionExclusion: Hashable, Sendable {
  /// At either end.
  case port(UInt16)
  /// The other end lies in it.
  case range(IPAddress, prefixLength: Int)
  /// A program's name as `ps` has it.
  case program(String)

  /// The kernel keeps so much of a program's name.
  package static let nameLimit = 15

  /// A port, an address, an address with the length of a prefix, or a program's name.
  package init(_ text: String) throws(PlainError) {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    if isNumber || text.hasPrefix("-") && Int(text) != nil {
      guard let port = UInt16(text), port > 0 else {
        throw PlainError("'\(text)' is no port; write a number from 1 to 65535.")
      }
      self = .port(port)
    } else if text.contains("/") {
      self = try Self.range(text)
    } else if let address = IPAddress(text) {
      self = Self.normalized(address, address.family == .ipv4 ? 32 : 128)
    } else if text.isEmpty || text.contains(":") || text.utf8.allSatisfy({ $0 == UInt8(ascii: ".") || 48...57 ~= $0 }) {
      throw PlainError(
        "'\(text)' is neither a port, an address, a range of addresses nor a program; write 22, 10.0.0.0/8 or ssh.")
    } else {
      self = .program(String(decoding: text.utf8.prefix(Self.nameLimit), as: UTF8.self))
    }
  }

  private static func range(_ text: String) throws(PlainError) -> ConnectionExclusion {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let address = IPAddress(String(parts[0])) else {
      throw PlainError(
        "'\(text)' is no range of addresses, and a program goes by its name alone; write 10.0.0.0/8, fd00::/8 or ssh.")
    }
    let longest = address.family == .ipv4 ? 32 : 128
    guard parts.count == 2, let length = Int(parts[1]), 0...longest ~= length else {
      throw PlainError(
        "'\(text)' is no range of addresses; behind \(parts[0])/ write a number from 0 to \(longest).")
    }
    return normalized(address, length)
  }

  /// IPv4 in IPv6 is IPv4.
  private static func normalized(_ address: IPAddress, _ length: Int) -> ConnectionExclusion {
    if case .v6(let bits) = address, bits >> 32 == 0xffff, length >= 96 {
      return .range(.v4(UInt32(truncatingIfNeeded: bits)), prefixLength: length - 96)
    }
    return .range(address, prefixLength: length)
  }

  /// The programs among exclusions.
  static func programs(_ exclusions: [ConnectionExclusion]) -> Set<String> {
    Set(exclusions.compactMap { if case .program(let name) = $0 { name } else { nil } })
  }

  /// Whether it covers a connection, as far as that can be told without its program.
  func covers(_ connection: ConnectionDecoder.Connection) -> Bool {
    switch self {
    case .port(let port): port == connection.localPort || port == connection.remotePort
    case .range(.v4(let base), let length):
      if case .v4(let bits) = connection.remote { (bits ^ base) >> UInt32(32 - length) == 0 } else { false }
    case .range(.v6(let base), let length):
      if case .v6(let bits) = connection.remote { (bits ^ base) >> UInt128(128 - length) == 0 } else { false }
    case .program: false
    }
  }
}
