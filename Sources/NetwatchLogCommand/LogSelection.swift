import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLog
import NetwatchOptions

/// The log that options select, and the time from which on it is read.
struct LogSelection {
  private let options: LogOptions

  /// - Throws: A `UsageError` if `--since` is not a time.
  init(_ options: LogOptions) throws(UsageError) {
    self.options = options
    if let since = options.since, Self.moment(since, now: LogMoment.now.wall) == nil {
      throw UsageError(
        "--since needs a number with s, m, h, d or w behind it, such as 7d, a date such as 2026-11-24, today or yesterday."
      )
    }
  }

  /// Reads the log as far as the history since a time in microseconds since 1970 needs it.
  func contents(since moment: Int64) throws -> LogContents {
    try LogContents(reading: options.file.map { LogPlace(path: $0) } ?? .forReading(), since: moment)
  }

  /// Returns the time from which on the log is printed, in microseconds since 1970.
  ///
  /// - Parameter standard: The value of `--since` if it is not given. Default: nil, the beginning of the log.
  func start(default standard: String? = nil) -> Int64 {
    (options.since ?? standard).flatMap { Self.moment($0, now: LogMoment.now.wall) } ?? 0
  }

  /// Parses a date, `today`, `yesterday`, or a number with a unit. Nil if the text is none of them.
  ///
  /// - Parameter now: The current time in microseconds since 1970.
  static func moment(_ text: String, now: Int64) -> Int64? {
    if text == "today" || text == "yesterday" {
      return LocalTime(now).startOfDay(later: text == "today" ? 0 : -1)
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    if parts.count == 3, [4, 2, 2] == parts.map(\.count), parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) }) {
      let numbers = parts.compactMap { Int($0) }
      return numbers.count == 3 ? LocalTime.moment(year: numbers[0], month: numbers[1], day: numbers[2]) : nil
    }
    let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    guard let unit = text.last.flatMap({ seconds[$0] }), text.dropLast().allSatisfy(\.isASCIIDigit),
      let number = Int64(text.dropLast())
    else { return nil }
    let (length, overflows) = number.multipliedReportingOverflow(by: unit * 1_000_000)
    return overflows || length > now ? 0 : now - length
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}
