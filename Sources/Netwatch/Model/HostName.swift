/// The name of a host other than this machine, such as `example.org`.
///
/// Only the form of the name is checked; whether it exists is up to a resolver. International names are kept as written,
/// because only a resolver has the tables of their allowed letters.
public struct HostName: Hashable, Sendable, CustomStringConvertible {
  /// The name as the user wrote it.
  public let text: String
  /// The name that is compared and resolved: in lower case if it is ASCII. A dot at the end is kept because it marks the name
  /// as complete.
  public let name: String

  /// Checks and keeps a host name.
  ///
  /// - Throws: ``NetworkTargetError`` if no resolver could know such a name, or if it is this machine itself (`localhost`).
  public init(_ text: String) throws(NetworkTargetError) {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let isComplete = labels.count > 1 && labels.last == ""
    try Self.check(isComplete ? labels.dropLast() : labels[...], of: text)
    self.text = text
    name = text.isASCII ? text.lowercased() : text
  }

  /// The name as the user wrote it.
  public var description: String { text }

  /// Whether the name has to be converted to ASCII before a name server is asked.
  package var isInternational: Bool { !name.isASCII }

  /// Compares two names; the case of ASCII names does not matter.
  public static func == (left: HostName, right: HostName) -> Bool { left.name == right.name }
  /// Hashes ``name``, so equal names have equal hashes.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension HostName {
  /// The longest name, counted in letters. Each letter becomes at least one byte of ASCII, so a name that is too long here is
  /// too long in every form.
  private static let longestName = 253
  private static let longestLabel = 63

  private static func check(_ labels: ArraySlice<Substring>, of text: String) throws(NetworkTargetError) {
    guard !text.isEmpty else {
      throw NetworkTargetError("a host name cannot be empty; write one such as example.org.")
    }
    guard !labels.contains("") else {
      throw NetworkTargetError("'\(text)' has nothing between two dots; write a name such as example.org.")
    }
    guard labels.reduce(labels.count - 1, { $0 + $1.count }) <= longestName else {
      throw NetworkTargetError("'\(text)' is longer than the \(longestName) bytes of a host name; give a shorter one.")
    }
    guard labels.allSatisfy({ $0.count <= longestLabel }) else {
      throw NetworkTargetError("'\(text)' has more than \(longestLabel) bytes between two dots; give a shorter name.")
    }
    guard labels.allSatisfy({ $0.unicodeScalars.allSatisfy(isAllowed) }) else {
      throw NetworkTargetError("'\(text)' is not a host name; write one of letters, digits, hyphens and underscores.")
    }
    guard !labels.contains(where: { $0.hasPrefix("-") || $0.hasSuffix("-") }) else {
      throw NetworkTargetError("'\(text)' begins or ends with a hyphen between its dots; write a name such as a-b.org.")
    }
    guard !looksLikeNumber(labels.last ?? "") else {
      throw NetworkTargetError("'\(text)' is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7.")
    }
    // RFC 6761: this covers every name that ends with `localhost`.
    guard labels.last?.lowercased() != "localhost" else {
      throw NetworkTargetError("\(text) is this machine itself; give a host elsewhere.")
    }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
    default: !scalar.isASCII
    }
  }

  /// Returns whether a label is a decimal or hexadecimal number. No name ends with one; it was meant as an address.
  private static func looksLikeNumber(_ label: Substring) -> Bool {
    guard label.hasPrefix("0x") || label.hasPrefix("0X") else { return label.allSatisfy(\.isDecimalDigit) }
    return label.dropFirst(2).allSatisfy { $0.isASCII && $0.isHexDigit }
  }
}

extension String {
  fileprivate var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}

extension Character {
  /// Whether the character is one of 0 to 9; digits of other scripts do not count.
  var isDecimalDigit: Bool { isASCII && isNumber }
}
