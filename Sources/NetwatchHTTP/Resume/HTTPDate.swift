/// `Sun, 06 Nov 1994 08:49:37 GMT`, as RFC 9110 has every server write it.
struct HTTPDate: Hashable, Comparable, Sendable {
  /// Since 1970.
  let seconds: Int64

  /// Nil for any other form: it is then as if there were no date.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 29, Self.matches(bytes, "aaa, 00 aaa 0000 00:00:00 GMT"),
      let month = Self.months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self))
    else { return nil }
    func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - 48) } }
    let (year, day) = (number(12..<16), number(5..<7))
    let (hour, minute, second) = (number(17..<19), number(20..<22), number(23..<25))
    guard year >= 1970, 1...31 ~= day, hour < 24, minute < 60, second <= 60 else { return nil }
    seconds = Self.days(year, Int64(month) + 1, day) * 86_400 + hour * 3_600 + minute * 60 + second
  }

  static func < (left: HTTPDate, right: HTTPDate) -> Bool { left.seconds < right.seconds }

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

  /// From 1970, by the Gregorian calendar. March is the first month here, so that a leap day is a year's last.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
  }
}
