/// The name of a host elsewhere, such as `example.org`.
///
/// Its form is known to be right; whether it exists is for a resolver to say. International names are kept as they are:
/// only a resolver has the tables that tell their good letters from their bad ones.
public struct HostName: Hashable, Sendable, CustomStringConvertible {
  /// As the user wrote it.
  public let text: String
  /// In lower case, as far as it is ASCII. A dot at its end is kept: it says that the name is complete.
  public let name: String

  /// - Throws: where no resolver could know such a name, or where it is this machine itself.
  public init(_ text: String) throws(PlainError) {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let isComplete = labels.count > 1 && labels.last == ""
    try Self.check(isComplete ? labels.dropLast() : labels[...], of: text)
    self.text = text
    name = text.isASCII ? text.lowercased() : text
  }

  public var description: String { text }

  /// Whether it has to be turned into ASCII before anyone is asked for it.
  package var isInternational: Bool { !name.isASCII }

  /// However it was written.
  public static func == (left: HostName, right: HostName) -> Bool { left.name == right.name }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension HostName {
  /// Counted in letters: each becomes at least one byte of ASCII, so that what is too long here is too long in any form.
  private static let longestName = 253
  private static let longestLabel = 63

  private static func check(_ labels: ArraySlice<Substring>, of text: String) throws(PlainError) {
    guard !text.isEmpty else {
      throw PlainError("a host name cannot be empty; write one such as example.org.")
    }
    guard !labels.contains("") else {
      throw PlainError("'\(text)' has nothing between two dots; write a name such as example.org.")
    }
    guard labels.reduce(labels.count - 1, { $0 + $1.count }) <= longestName else {
      throw PlainError("'\(text)' is longer than the \(longestName) bytes of a host name; give a shorter one.")
    }
    guard labels.allSatisfy({ $0.count <= longestLabel }) else {
      throw PlainError("'\(text)' has more than \(longestLabel) bytes between two dots; give a shorter name.")
    }
    guard labels.allSatisfy({ $0.unicodeScalars.allSatisfy(isAllowed) }) else {
      throw PlainError("'\(text)' is not a host name; write one of letters, digits, hyphens and underscores.")
    }
    guard !labels.contains(where: { $0.hasPrefix("-") || $0.hasSuffix("-") }) else {
      throw PlainError("'\(text)' begins or ends with a hyphen between its dots; write a name such as a-b.org.")
    }
    guard !looksLikeNumber(labels.last ?? "") else {
      throw PlainError("'\(text)' is no IPv4 address; write four numbers from 0 to 255, such as 192.0.2.7.")
    }
    // RFC 6761: whatever ends with it.
    guard labels.last?.lowercased() != "localhost" else {
      throw PlainError("\(text) is this machine itself; give a host elsewhere.")
    }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
    default: !scalar.isASCII
    }
  }

  /// No name ends so, and what does was meant as an address, in decimal or in hexadecimal.
  private static func looksLikeNumber(_ label: Substring) -> Bool {
    guard label.hasPrefix("0x") || label.hasPrefix("0X") else { return label.allSatisfy(\.isDecimalDigit) }
    return label.dropFirst(2).allSatisfy { $0.isASCII && $0.isHexDigit }
  }
}

extension String {
  fileprivate var isASCII: Bool { utf8.allSatisfy { $0 < 0x80 } }
}

extension Character {
  /// 0 to 9, and no digit of another script.
  var isDecimalDigit: Bool { isASCII && isNumber }
}
