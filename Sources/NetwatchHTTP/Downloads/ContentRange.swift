/// The value of the `Content-Range` field of a response: `bytes 5-9/10`, `bytes 5-9/*` or `bytes */10`.
struct ContentRange: Hashable, Sendable {
  /// The bytes that the server sends. Nil if the server reports that it cannot send the requested ones.
  let bytes: Range<Int64>?
  /// The length of the whole file. Nil if the server does not report it.
  let total: Int64?

  /// Returns nil for a text that contradicts itself, and for a unit other than bytes.
  init?(_ text: String) {
    guard text.prefix(6).lowercased() == "bytes " else { return nil }
    let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    total = Self.number(parts[1])
    guard total != nil || parts[1] == "*" else { return nil }
    if parts[0] == "*" {
      bytes = nil
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
      total.map({ last < $0 }) ?? true
    else { return nil }
    bytes = first..<(last + 1)
  }

  /// Returns nil for anything but 1 to 18 digits.
  private static func number(_ text: Substring) -> Int64? {
    guard 1...18 ~= text.utf8.count, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int64(text)
  }
}
