import Netwatch

/// A rule for connections that do not count, from `--activity-ignore`.
package enum ConnectionExclusion: Hashable, Sendable {
  /// The port at either end.
  case port(UInt16)
  /// The range of addresses that contains the other end.
  case range(InternetAddress, prefixLength: Int)
  /// The name of the program, as `ps` shows it.
  case program(String)

  /// The most bytes of a program's name that the kernel keeps.
  package static let nameLimit = 15

  /// Reads a port, an address, an address with a prefix length, or a program's name.
  ///
  /// - Throws: A `PlainError` that tells what to write instead.
  package init(_ text: String) throws(PlainError) {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    if isNumber || text.hasPrefix("-") && Int(text) != nil {
      guard let port = UInt16(text), port > 0 else {
        throw PlainError("'\(text)' is no port; write a number from 1 to 65535.")
      }
      self = .port(port)
    } else if text.contains("/") {
      self = try Self.range(text)
    } else if let address = InternetAddress(text) {
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
    guard let address = InternetAddress(String(parts[0])) else {
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

  /// Makes a range, in which IPv4 mapped into IPv6 becomes IPv4.
  private static func normalized(_ address: InternetAddress, _ length: Int) -> ConnectionExclusion {
    if case .v6(let bits) = address, bits >> 32 == 0xffff, length >= 96 {
      return .range(.v4(UInt32(truncatingIfNeeded: bits)), prefixLength: length - 96)
    }
    return .range(address, prefixLength: length)
  }

  /// Returns the names of the programs among exclusions.
  static func programs(_ exclusions: [ConnectionExclusion]) -> Set<String> {
    Set(exclusions.compactMap { if case .program(let name) = $0 { name } else { nil } })
  }

  /// Returns whether the rule covers a connection, as far as that is known without its program.
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
