/// What reachability is judged of.
public enum NetworkTarget: Hashable, Sendable {
  /// The internet as a whole. No text reads as this one: it is what is meant where nothing is written.
  case internet
  /// One address, and the port that was written with it.
  case address(IPAddress, port: UInt16?)
  /// One host, wherever its name leads at the time.
  case host(HostName, port: UInt16?)
}

extension NetworkTarget: CustomStringConvertible {
  /// Reads back as the same target, but for `internet`.
  public var description: String {
    switch self {
    case .internet: "internet"
    case .address(let address, nil): address.description
    case .address(let address, let port?): address.family == .ipv6 ? "[\(address)]:\(port)" : "\(address):\(port)"
    case .host(let name, let port): name.description + (port.map { ":\($0)" } ?? "")
    }
  }
}

extension NetworkTarget {
  /// The port that was written with it: rules can send one port's packets another way.
  public var port: UInt16? {
    switch self {
    case .internet: nil
    case .address(_, let port), .host(_, let port): port
    }
  }
}

// MARK: Reading

extension NetworkTarget {
  /// Reads what a user writes: `192.0.2.7`, `2001:db8::7`, `example.org`, each also with a port, as `192.0.2.7:443`,
  /// `[2001:db8::7]:443` and `example.org:443`.
  public init(_ text: String) throws(PlainError) {
    guard !text.isEmpty else {
      throw PlainError("a target cannot be empty; write 192.0.2.7, 2001:db8::7 or example.org.")
    }
    try Self.refuseMoreThanHost(text)
    if let address = IPAddress(text) {
      self = .address(try Self.checked(address), port: nil)
    } else if text.hasPrefix("[") || text.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1 {
      self = try Self.ipv6(text)
    } else {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      let host = String(parts[0])
      let port = parts.count > 1 ? try Self.port(parts[1], of: text) : nil
      guard !host.isEmpty else {
        throw PlainError("'\(text)' has no host before its port; write one, such as example.org\(text).")
      }
      if let address = IPAddress(host) {
        self = .address(try Self.checked(address), port: port)
      } else {
        self = .host(try HostName(host), port: port)
      }
    }
  }

  /// In brackets, or with so many colons that nothing else can be meant.
  private static func ipv6(_ text: String) throws(PlainError) -> NetworkTarget {
    guard !text.contains("%" as Character) else {
      throw PlainError("'\(text)' has a zone; give an address that means the same on every link.")
    }
    let parts = text.dropFirst().split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.hasPrefix("["), parts.count == 2, let address = IPAddress(String(parts[0])), address.family == .ipv6,
      parts[1].isEmpty || parts[1].hasPrefix(":")
    else {
      throw PlainError("'\(text)' is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port.")
    }
    let port = parts[1].isEmpty ? nil : try port(parts[1].dropFirst(), of: text)
    return .address(try checked(address), port: port)
  }

  private static func port(_ digits: Substring, of text: String) throws(PlainError) -> UInt16 {
    // The initializer takes a sign too.
    guard digits.allSatisfy(\.isDecimalDigit), let port = UInt16(digits), port > 0 else {
      throw PlainError("'\(text)' has no port after its colon; write a number from 1 to 65535, or no colon.")
    }
    return port
  }

  private static func checked(_ address: IPAddress) throws(PlainError) -> IPAddress {
    if address.isOfThisMachine {
      throw PlainError("\(address) is this machine itself; give an address elsewhere.")
    }
    // No route says which link is meant.
    if address.isMulticast || address.isLinkLocal && address.family == .ipv6 {
      throw PlainError(
        "\(address) is reached over every link or none; give a unicast address beyond the link.")
    }
    return address
  }

  /// URLs, and what is left of them.
  private static func refuseMoreThanHost(_ text: String) throws(PlainError) {
    var rest = text[...]
    let kind: String
    if let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") {
      rest = text[colon...].dropFirst(3)
      kind = "is a URL"
    } else if text.contains("@" as Character) {
      kind = "names a user"
    } else if text.contains("/" as Character) {
      kind = "has a path"
    } else {
      return
    }
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let host = String(authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "")
    let example = (try? NetworkTarget(host)).map { "write \($0)" } ?? "write one such as example.org"
    throw PlainError("'\(text)' \(kind); give its host alone, \(example).")
  }
}

extension IPAddress {
  /// A loopback address, or none at all. It is no target, but a name may still lead to it.
  package var isOfThisMachine: Bool { isLoopback || isUnspecified }
}
