import NetwatchEventLoop

extension CivilTime {
  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, the form that RFC 9110 requires of servers. Nil for any other form, which counts
  /// as no date.
  init?(httpDate text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, Self.matches(bytes, "aaa, 00 aaa 0000 00:00:00 GMT"),
      let month = Self.months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self))
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - 48) } }
    self.init(
      year: number(12..<16), month: Int64(month) + 1, day: number(5..<7), hour: number(17..<19),
      minute: number(20..<22), second: number(23..<25))
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// - Parameter pattern: `a` stands for a letter, `0` for a digit, anything else for itself.
  private static func matches(_ bytes: [UInt8], _ pattern: StaticString) -> Bool {
    zip(bytes, "\(pattern)".utf8).allSatisfy { byte, wanted in
      switch wanted {
      case UInt8(ascii: "a"): 65...90 ~= byte || 97...122 ~= byte
      case UInt8(ascii: "0"): 48...57 ~= byte
      default: byte == wanted
      }
    }
  }
}
