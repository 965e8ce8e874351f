/// The target whose reachability is judged: the internet, an address or a host.
public enum NetworkTarget: Hashable, Sendable {
  /// The internet as a whole: the target if none is given. ``init(_:)`` never returns this case.
  case internet
  /// One address, with the port that was written with it; nil if none was.
  case address(InternetAddress, port: UInt16?)
  /// One host, reached by whatever addresses its name resolves to, with the port that was written with it; nil if none was.
  case host(HostName, port: UInt16?)
}

extension NetworkTarget: CustomStringConvertible {
  /// The target as text. ``init(_:)`` reads it as the same target, except for `internet`.
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
  /// The port that was written with the target; nil if none was. Routing rules can send the packets of one port another way.
  public var port: UInt16? {
    switch self {
    case .internet: nil
    case .address(_, let port), .host(_, let port): port
    }
  }
}

// MARK: Reading

extension NetworkTarget {
  /// Reads a target as a user writes it: `192.0.2.7`, `2001:db8::7` or `example.org`. Each can have a port: `192.0.2.7:443`,
  /// `[2001:db8::7]:443`, `example.org:443`.
  ///
  /// - Throws: ``NetworkTargetError`` if the text is no address or host name, has more than a host and a port (such as a URL), has a
  ///   port outside 1 to 65535, or names this machine, a multicast address or a link-local IPv6 address.
  public init(_ text: String) throws(NetworkTargetError) {
    guard !text.isEmpty else {
      throw NetworkTargetError("a target cannot be empty; write 192.0.2.7, 2001:db8::7 or example.org.")
    }
    try Self.refuseMoreThanHost(text)
    if let address = InternetAddress(text) {
      self = .address(try Self.checked(address), port: nil)
    } else if text.hasPrefix("[") || text.utf8.count(where: { $0 == UInt8(ascii: ":") }) > 1 {
      self = try Self.ipv6(text)
    } else {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      let host = String(parts[0])
      let port = parts.count > 1 ? try Self.port(parts[1], of: text) : nil
      guard !host.isEmpty else {
        throw NetworkTargetError("'\(text)' has no host before its port; write one, such as example.org\(text).")
      }
      if let address = InternetAddress(host) {
        self = .address(try Self.checked(address), port: port)
      } else {
        self = .host(try HostName(host), port: port)
      }
    }
  }

  /// Reads an IPv6 address, in brackets or with at least two colons, so that nothing else can be meant.
  private static func ipv6(_ text: String) throws(NetworkTargetError) -> NetworkTarget {
    guard !text.contains("%" as Character) else {
      throw NetworkTargetError("'\(text)' has a zone; give an address that means the same on every link.")
    }
    let parts = text.dropFirst().split(separator: "]", maxSplits: 1, omittingEmptySubsequences: false)
    guard text.hasPrefix("["), parts.count == 2, let address = InternetAddress(String(parts[0])),
      address.family == .ipv6,
      parts[1].isEmpty || parts[1].hasPrefix(":")
    else {
      throw NetworkTargetError("'\(text)' is not an IPv6 address; write 2001:db8::7, or [2001:db8::7]:443 with a port.")
    }
    let port = parts[1].isEmpty ? nil : try port(parts[1].dropFirst(), of: text)
    return .address(try checked(address), port: port)
  }

  private static func port(_ digits: Substring, of text: String) throws(NetworkTargetError) -> UInt16 {
    // The initializer also accepts a sign.
    guard digits.allSatisfy(\.isDecimalDigit), let port = UInt16(digits), port > 0 else {
      throw NetworkTargetError(
        "'\(text)' has no valid port after its colon; write a number from 1 to 65535, or no colon.")
    }
    return port
  }

  private static func checked(_ address: InternetAddress) throws(NetworkTargetError) -> InternetAddress {
    if address.isOfThisMachine {
      throw NetworkTargetError("\(address) is this machine itself; give an address elsewhere.")
    }
    // No route tells which link is meant.
    if address.isMulticast || address.isLinkLocal && address.family == .ipv6 {
      throw NetworkTargetError(
        "\(address) is reached over every link or none; give a unicast address beyond the link.")
    }
    return address
  }

  /// Throws for URLs and for text with a user or a path.
  private static func refuseMoreThanHost(_ text: String) throws(NetworkTargetError) {
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
    throw NetworkTargetError("'\(text)' \(kind); give its host alone, \(example).")
  }
}

extension InternetAddress {
  /// Whether the address is a loopback address or unspecified. It is no valid target, but a name can still resolve to it.
  package var isOfThisMachine: Bool { isLoopback || isUnspecified }
}

/// A text that names no target, in one sentence for a person: what is wrong, and what to write.
public struct NetworkTargetError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The sentence.
  public let description: String

  init(_ description: String) { self.description = description }
}
