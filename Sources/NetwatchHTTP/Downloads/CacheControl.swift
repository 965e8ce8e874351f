import HTTPTypes

/// What a `Cache-Control` says to a cache in one program, in a response or in a request.
struct CacheControl: Hashable, Sendable {
  private(set) var isNotToBeStored = false
  /// The server is to be asked each time.
  private(set) var isNeverFresh = false
  /// In seconds. Of two, the shorter; 0 for what is no number.
  private(set) var maximumAge: Int64?
  /// For one user alone.
  private(set) var isPrivate = false
  /// For everybody, also where credentials were asked for.
  private(set) var isPublic = false

  init(_ text: String) {
    for directive in Self.directives(text) {
      let parts = directive.split(separator: "=", maxSplits: 1)
      let name = parts.first.map { Self.trimmed($0).lowercased() } ?? ""
      switch name {
      case "no-store": isNotToBeStored = true
      case "no-cache": isNeverFresh = true
      case "private": isPrivate = true
      case "public": isPublic = true
      case "max-age":
        let age = parts.count == 2 ? Self.seconds(parts[1]) ?? 0 : 0
        maximumAge = min(age, maximumAge ?? .max)
      default: break
      }
    }
  }

  /// What a request says: in `Pragma` as well, if it has no `Cache-Control` (RFC 9111 §5.4).
  init(of request: HTTPRequest) {
    let pragma = HTTPField.Name("Pragma").flatMap { request.headerFields[$0] }
    self.init(request.headerFields[.cacheControl] ?? pragma ?? "")
  }

  /// Nil for anything but digits. The largest there is, is more than a century.
  static func seconds(_ text: some StringProtocol) -> Int64? {
    let digits = trimmed(text).utf8.filter { $0 != UInt8(ascii: "\"") }
    guard !digits.isEmpty, digits.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return digits.reduce(0) { min($0 * 10 + Int64($1 - 48), 1 << 32) }
  }

  /// A comma in quotes is no end.
  private static func directives(_ text: String) -> [Substring] {
    var isQuoted = false
    var isEscaped = false
    return text.split { character in
      defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
      if character == "\"", !isEscaped { isQuoted.toggle() }
      return character == "," && !isQuoted
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var text = Substring(text)
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
