import NetwatchEventLoop

extension CivilTime {
  /// Parses one of the three forms of RFC 9110, section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older ones,
  /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Nil for any other form, which counts as no date.
  ///
  /// A year of two digits that would be more than 50 years ahead of the wall clock has passed.
  init?(httpDate text: String) {
    self.init(httpDate: text, now: CivilTime(secondsSince1970: KernelClock.wall.nanoseconds / 1_000_000_000))
  }

  /// Parses a date as ``init(httpDate:)`` does.
  ///
  /// - Parameter now: The time for years of two digits.
  init?(httpDate text: String, now: CivilTime) {
    let bytes = Array(text.utf8)
    // The name of the day has three letters, or in the form with a year of two digits up to nine.
    let dayEnd = bytes.firstIndex { !Self.isLetter($0) } ?? bytes.count
    guard dayEnd >= 3 else { return nil }
    let rest = Array(bytes[dayEnd...])
    func number(_ range: Range<Int>) -> Int64 {
      rest[range].reduce(0) { $0 * 10 + (Self.isDigit($1) ? Int64($1 - 48) : 0) }
    }
    func month(_ range: Range<Int>) -> Int64? {
      Self.months.firstIndex(of: String(decoding: rest[range], as: UTF8.self)).map { Int64($0) + 1 }
    }
    let (year, day, time): (Int64, Int64, Int)
    let named: Int64?
    if Self.matches(rest, ", 00 aaa 0000 00:00:00 GMT") {
      (year, named, day, time) = (number(9..<13), month(5..<8), number(2..<4), 14)
    } else if Self.matches(rest, ", 00-aaa-00 00:00:00 GMT") {
      (year, named, day, time) = (Self.year(number(9..<11), now), month(5..<8), number(2..<4), 12)
    } else if Self.matches(rest, " aaa 00 00:00:00 0000") || Self.matches(rest, " aaa  0 00:00:00 0000") {
      (year, named, day, time) = (number(17..<21), month(1..<4), number(5..<7), 8)
    } else {
      return nil
    }
    guard let named else { return nil }
    self.init(
      year: year, month: named, day: day, hour: number(time..<time + 2), minute: number(time + 3..<time + 5),
      second: number(time + 6..<time + 8))
  }

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the year that two digits stand for.
  private static func year(_ digits: Int64, _ now: CivilTime) -> Int64 {
    let year = now.year / 100 * 100 + digits
    return year > now.year + 50 ? year - 100 : year
  }

  /// - Parameter pattern: `a` stands for a letter, `0` for a digit, anything else for itself.
  private static func matches(_ bytes: [UInt8], _ pattern: StaticString) -> Bool {
    bytes.count == pattern.utf8CodeUnitCount
      && zip(bytes, "\(pattern)".utf8).allSatisfy { byte, wanted in
        switch wanted {
        case UInt8(ascii: "a"): isLetter(byte)
        case UInt8(ascii: "0"): isDigit(byte)
        default: byte == wanted
        }
      }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { 65...90 ~= byte || 97...122 ~= byte }
  private static func isDigit(_ byte: UInt8) -> Bool { 48...57 ~= byte }
}
