import Netwatch
import NetwatchLibC

/// A time in the local calendar.
package struct LocalTime: Hashable, Sendable {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private let year: Int
  private let month: Int
  private let dayOfMonth: Int
  private let hour: Int
  private let minute: Int
  private let second: Int
  private let weekday: Int
  /// How far the local time is ahead of UTC, in minutes.
  private let offset: Int

  /// Converts a time.
  ///
  /// - Parameter microseconds: The microseconds since 1970 in UTC. A time that the calendar does not have counts as 1970.
  package init(_ microseconds: Int64) {
    var seconds = time_t(min(max(microseconds, 0), LogMoment.latest) / 1_000_000)
    var local = unsafe tm()
    if unsafe localtime_r(&seconds, &local) == nil { unsafe local = tm() }
    year = unsafe Int(local.tm_year) + 1_900
    month = unsafe Int(local.tm_mon) + 1
    dayOfMonth = unsafe Int(local.tm_mday)
    hour = unsafe Int(local.tm_hour)
    minute = unsafe Int(local.tm_min)
    second = unsafe Int(local.tm_sec)
    weekday = unsafe Int(local.tm_wday)
    offset = unsafe Int(local.tm_gmtoff) / 60
  }

  /// Returns the time of a local date and time of day, in microseconds since 1970. Nil if the calendar does not have it.
  package static func moment(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0) -> Int64? {
    guard 1970...9999 ~= year, 1...12 ~= month, 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute else { return nil }
    var local = unsafe tm()
    unsafe (local.tm_year, local.tm_mon, local.tm_mday) = (CInt(year - 1_900), CInt(month - 1), CInt(day))
    unsafe (local.tm_hour, local.tm_min, local.tm_isdst) = (CInt(hour), CInt(minute), -1)
    let seconds = unsafe mktime(&local)
    // A day that the month does not have becomes a day of the next month.
    guard seconds >= 0, unsafe Int(local.tm_mday) == day else { return nil }
    return Int64(seconds) * 1_000_000
  }

  /// The day as a number, such as 20261124.
  package var day: Int64 { Int64(year * 10_000 + month * 100 + dayOfMonth) }

  /// Returns the beginning of this day, or of one `days` later, in microseconds since 1970.
  package func startOfDay(later days: Int = 0) -> Int64 {
    var local = unsafe tm()
    unsafe (local.tm_year, local.tm_mon) = (CInt(clamping: year - 1_900), CInt(clamping: month - 1))
    unsafe (local.tm_mday, local.tm_isdst) = (CInt(clamping: dayOfMonth + days), -1)
    return Int64(unsafe mktime(&local)) * 1_000_000
  }

  /// The date, such as `2026-11-24`.
  package var date: String { text { $0.append(date: self) } }
  /// The date and time with the offset from UTC, such as `2026-11-24 14:05:09+01:00`. Without it, an hour at the end of summer time
  /// has two meanings.
  package var dateAndTime: String {
    text { buffer in
      buffer.append(date: self)
      for (mark, number) in [(" ", hour), (":", minute), (":", second)] as [(StaticString, Int)] {
        buffer.append(mark)
        buffer.appendDecimal(UInt64(clamping: number), digits: 2)
      }
      buffer.append(offset < 0 ? "-" : "+")
      buffer.appendDecimal(UInt64(offset.magnitude) / 60, digits: 2)
      buffer.append(":")
      buffer.appendDecimal(UInt64(offset.magnitude) % 60, digits: 2)
    }
  }
  /// The weekday and date, such as `Tue 24 Nov`.
  package var shortDate: String {
    "\(Self.weekdays[min(max(weekday, 0), 6)]) \(dayOfMonth) \(Self.months[min(max(month, 1), 12) - 1])"
  }

  private func text(_ write: (inout LineBuffer) -> Void) -> String {
    var buffer = LineBuffer(capacity: 64)
    write(&buffer)
    return buffer.text
  }

  fileprivate var dateParts: (year: Int, month: Int, day: Int) { (year, month, dayOfMonth) }
}

extension LineBuffer {
  fileprivate mutating func append(date: LocalTime) {
    let (year, month, day) = date.dateParts
    appendDecimal(UInt64(clamping: year), digits: 4)
    append("-")
    appendDecimal(UInt64(clamping: month), digits: 2)
    append("-")
    appendDecimal(UInt64(clamping: day), digits: 2)
  }
}
