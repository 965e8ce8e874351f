/// A second as the calendar has it. Foundation would cost half of the start-up time for this.
struct UTCTime: Hashable {
  let year: UInt64
  let month: UInt64
  let day: UInt64
  let hour: UInt64
  let minute: UInt64
  let second: UInt64

  /// - Parameter seconds: since 1970-01-01T00:00:00Z.
  init(seconds: UInt64) {
    let days = seconds / 86_400
    hour = seconds % 86_400 / 3_600
    minute = seconds % 3_600 / 60
    second = seconds % 60

    // Years that begin in March have the leap day at their end, and months of a regular rhythm: five have 153 days.
    // Eras of 400 years, all of 146,097 days, are counted from 0000-03-01.
    let sinceEra = days + 719_468
    let dayOfEra = sinceEra % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
    month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    year = sinceEra / 146_097 * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  }
}
