import Foundation
import Testing

@testable import NetwatchEventLoop

@Suite struct CivilTimeTests {
  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
    return calendar
  }()

  private static func agrees(_ seconds: Int64) -> Bool {
    let time = CivilTime(secondsSince1970: seconds)
    let parts = calendar.dateComponents(
      [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(seconds)))
    return time.secondsSince1970 == seconds && Int(time.year) == parts.year && Int(time.month) == parts.month
      && Int(time.day) == parts.day
      && Int(time.hour) == parts.hour && Int(time.minute) == parts.minute && Int(time.second) == parts.second
  }

  @Test func `random moments are as Foundation has them`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      // The last moment is the end of the year 9999, the last year with four digits.
      let seconds = Int64.random(in: 0..<253_402_300_800, using: &generator)
      #expect(Self.agrees(seconds), "\(seconds)")
    }
  }

  @Test func `every day of four centuries is as Foundation has it`() {
    for day in Int64(0)..<146_097 where !Self.agrees(day * 86_400 + 86_399) {
      Issue.record("day \(day)")
      return
    }
  }

  struct Sample: CustomTestStringConvertible, Sendable {
    var testDescription: String { "\(seconds)" }
    let seconds: Int64
    let date: [Int64]
  }

  @Test(arguments: [
    Sample(seconds: 0, date: [1970, 1, 1]), Sample(seconds: 951_782_400, date: [2000, 2, 29]),
    Sample(seconds: 951_868_800, date: [2000, 3, 1]), Sample(seconds: 1_709_164_800, date: [2024, 2, 29]),
    Sample(seconds: 4_107_542_399, date: [2100, 2, 28]), Sample(seconds: 4_107_542_400, date: [2100, 3, 1]),
    Sample(seconds: 1_735_689_599, date: [2024, 12, 31]), Sample(seconds: 253_402_300_799, date: [9999, 12, 31]),
  ])
  func `leap days and ends of years`(_ sample: Sample) {
    let time = CivilTime(secondsSince1970: sample.seconds)
    #expect([Int64(time.year), Int64(time.month), Int64(time.day)] == sample.date)
  }
}
