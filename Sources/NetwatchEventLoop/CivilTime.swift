/// A date and time to the second, in UTC. Foundation would add half of the start-up time for this.
package struct CivilTime: Hashable, Sendable {
  /// The year, such as 2026.
  package let year: Int64
  /// The month, from 1 to 12.
  package let month: Int64
  /// The day of the month, from 1 to 31.
  package let day: Int64
  /// The hour, from 0 to 23.
  package let hour: Int64
  /// The minute, from 0 to 59.
  package let minute: Int64
  /// The second, from 0 to 60.
  package let second: Int64

  /// Converts a number of seconds.
  ///
  /// - Parameter seconds: The seconds since 1970-01-01T00:00:00Z. A negative number counts as 0.
  package init(secondsSince1970 seconds: Int64) {
    let seconds = max(seconds, 0)
    let days = seconds / 86_400
    hour = seconds % 86_400 / 3_600
    minute = seconds % 3_600 / 60
    second = seconds % 60

    // If years begin in March, the leap day is at their end, and months have a regular pattern: five have 153 days. Eras of 400
    // years, each of 146,097 days, are counted from 0000-03-01.
    let sinceEra = days + 719_468
    let dayOfEra = sinceEra % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = sinceEra / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  }

  /// Creates a time from its parts. Nil if a part is out of range, or the year is not from 1970 to 9999. The second may be a
  /// leap second.
  package init?(year: Int64, month: Int64, day: Int64, hour: Int64, minute: Int64, second: Int64) {
    guard 1970...9999 ~= year, 1...12 ~= month, 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else {
      return nil
    }
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
  }

  /// The seconds since 1970-01-01T00:00:00Z.
  package var secondsSince1970: Int64 {
    let marchYear = month > 2 ? year : year - 1
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }
}
