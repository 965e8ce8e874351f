/// What a server says of the part that it sends: `bytes 5-9/10`, `bytes 5-9/*`, `bytes */10`.
struct ContentRange: Hashable, Sendable {
  /// Nil where the server says that it cannot send what was asked for.
  let bytes: Range<Int64>?
  /// Nil where it does not say how long the whole is.
  let total: Int64?

  /// Nil for what contradicts itself, and for another unit.
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

  /// Nil for anything but digits, and for too many of them.
  private static func number(_ text: Substring) -> Int64? {
    guard 1...18 ~= text.utf8.count, text.utf8.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return Int64(text)
  }
}
