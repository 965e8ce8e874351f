import Foundation
import HTTPTypes
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct ResumeDataTests {
  private static let changed = "Sun, 06 Nov 1994 08:49:37 GMT"
  private static let second = "Sun, 06 Nov 1994 08:49:38 GMT"
  private let data = ResumeData(
    url: "http://host/a?b=c", offset: 5, validator: .entityTag("\"x\""), total: 10)

  @Test(
    arguments: [
      ("\"a\"", changed, second, "\"a\""), ("\"\"", nil, nil, "\"\""), ("W/\"a\"", changed, second, changed),
      ("W/\"a\"", nil, second, nil), (nil, changed, second, changed), (nil, changed, changed, nil),
      (nil, second, changed, nil), (nil, changed, nil, nil), (nil, "yesterday", second, nil), (nil, nil, second, nil),
      ("a", nil, nil, nil), ("\"a", nil, nil, nil), ("\"", nil, nil, nil), ("\"a\"b\"", nil, nil, nil),
      ("\"a b\"", nil, nil, nil), ("\"a\r\nX: y\"", nil, nil, nil), ("\"é\"", nil, nil, nil),
      ("\"\(String(repeating: "a", count: 2_000))\"", nil, nil, nil),
    ] as [(String?, String?, String?, String?)])
  func `the validator is a strong entity tag, or else a date that is strong`(
    _ tag: String?, _ changed: String?, _ date: String?, _ text: String?
  ) {
    #expect(ResumeData.Validator(entityTag: tag, lastModified: changed, date: date)?.text == text)
  }

  @Test func `it is the same after it was written and read`() throws {
    let date = ResumeData(url: "https://host/", offset: 0, validator: .lastModified(Self.changed), total: nil)
    for data in [data, date] {
      let data = try #require(data)
      #expect(try JSONDecoder().decode(ResumeData.self, from: JSONEncoder().encode(data)) == data)
    }
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"version":1}"#,
    #"{"version":2,"url":"http://h/","offset":1,"etag":"\"x\""}"#,
    #"{"version":1,"url":"http://h/","offset":-1,"etag":"\"x\""}"#,
    #"{"version":1,"url":"http://h/","offset":1e30,"etag":"\"x\""}"#,
    #"{"version":1,"url":"http://h/","offset":2,"total":1,"etag":"\"x\""}"#,
    #"{"version":1,"url":"http://h/","offset":1,"etag":"W/\"x\""}"#,
    #"{"version":1,"url":"http://h/","offset":1,"etag":"\"x\"\r\nCookie: y\""}"#,
    #"{"version":1,"url":"http://h/","offset":1}"#,
    #"{"version":1,"url":"http://h/","offset":1,"last_modified":"now"}"#,
    #"{"version":1,"url":"http://h/\r\n","offset":1,"etag":"\"x\""}"#,
    #"{"version":1,"url":"file:///etc/passwd","offset":1,"etag":"\"x\""}"#,
  ])
  func `what cannot be is not read`(_ text: String) {
    #expect(throws: (any Error).self) { try JSONDecoder().decode(ResumeData.self, from: Data(text.utf8)) }
  }

  @Test func `mutated data is refused, or is what a server could have sent`() throws {
    var random = SplitMix(seed: 8)
    let source = Array(try JSONEncoder().encode(data))
    var (read, refused) = (0, 0)
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      var bytes = source
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.remove(at: index)
        default: bytes.insert(UInt8(ascii: "9"), at: index)
        }
      }
      guard let data = try? JSONDecoder().decode(ResumeData.self, from: Data(bytes)) else {
        refused += 1
        continue
      }
      read += 1
      let isSound =
        data.offset >= 0 && data.total.map { $0 >= data.offset } ?? true && data.validator.isSound
        && data.url.hasPrefix("http") && !(data.url + data.validator.text).utf8.contains { $0 < 0x20 }
      guard isSound else {
        Issue.record("\(data)")
        return
      }
    }
    #expect(read > 100 && refused > 100)
  }

  @Test(
    arguments: [
      (changed, 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Thu, 29 Feb 2024 23:59:60 GMT", 1_709_251_200),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
      ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Wed Nov 16 08:49:37 1994", 784_975_777),
      ("Tuesday, 01-Dec-76 00:00:00 GMT", 3_374_006_400), ("Tuesday, 01-Dec-77 00:00:00 GMT", 249_782_400),
      ("Sun, 06 Nov 1994 24:49:37 GMT", nil), ("Sun, 06 Abc 1994 08:49:37 GMT", nil),
      ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, +6 Nov 1994 08:49:37 GMT", nil), ("", nil),
      ("Sunday, 06-Nov-1994 08:49:37 GMT", nil), ("Sunday, 6-Nov-94 08:49:37 GMT", nil),
      ("Sun Nov 6 08:49:37 1994", nil), ("Sun Nov  6 08:49:37 1994 GMT", nil), ("Su, 06 Nov 1994 08:49:37 GMT", nil),
    ] as [(String, Int64?)])
  func `dates are read as RFC 9110 has them written`(_ text: String, _ seconds: Int64?) {
    // The present is in November 2026. It determines the century of a year with two digits.
    let now = CivilTime(secondsSince1970: 1_795_000_000)
    #expect(CivilTime(httpDate: text, now: now)?.secondsSince1970 == seconds)
  }

  @Test(
    arguments: [
      ("bytes 5-9/10", 5..<10, 10), ("BYTES 0-0/1", 0..<1, 1), ("bytes 5-9/*", 5..<10, nil), ("bytes */10", nil, 10),
    ] as [(String, Range<Int64>?, Int64?)])
  func `parts are read`(_ text: String, _ bytes: Range<Int64>?, _ total: Int64?) {
    #expect(ContentRange(text)?.bytes == bytes)
    #expect(ContentRange(text)?.total == total)
    #expect(ContentRange(text) != nil)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes 5-9", "bytes 9-5/10", "bytes 5-10/10", "bytes -5-9/10", "bytes 5-9/-1",
    "items 5-9/10",
    "bytes 5-9/10/11", "bytes 5-9-11/20", "bytes 5-99999999999999999999/*", "bytes x-9/10", "bytes 5 - 9/10",
    "bytes +5-9/10",
  ])
  func `contradicting parts are refused`(_ text: String) {
    #expect(ContentRange(text) == nil)
  }
}
