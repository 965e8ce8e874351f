import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

@Suite struct EventRecordReadingTests {
  private static func written(_ record: EventRecord) -> [UInt8] {
    var writer = JSONLineWriter()
    writer.write(record)
    return writer.line.dropLast()
  }

  private static var samples: [EventRecord] {
    var busy = JSONLineTests.record(JSONLineTests.path(), .activity)
    busy.activity.state = .active
    busy.activity.inFlight = 3
    busy.activityReason = .activationDelay
    var connected = busy
    connected.activity.connections = 2
    var verdict = JSONLineTests.path().verdict
    verdict.ipv6 = .init(address: .v6(0x2001_0db8 << 96 | 5), gateway: .v6(0xfe80 << 112 | 1), interfaceIndex: 2)
    verdict.isExpensive = true
    var probed = JSONLineTests.record(JSONLineTests.path(reason: .internetChanged))
    probed.internet = .portal
    var cut = JSONLineTests.record(JSONLineTests.path(.notReachable, reason: .noCarrier))
    cut.internet = .absent
    return [
      busy, connected, JSONLineTests.record(NetworkPath(verdict: verdict, reason: .addressChanged, interfaces: [])),
      JSONLineTests.record(JSONLineTests.path(.notReachable, reason: .noCarrier)),
      JSONLineTests.record(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []), .initial),
      probed, cut,
    ]
  }

  @Test func `what is written can be read`() throws {
    for record in Self.samples {
      let line = Self.written(record)
      let read = try #require(EventRecord(line: line[...]))
      #expect(Self.written(read) == line)
    }
  }

  @Test(arguments: [
    "1970-01-01T00:00:00.000000Z", "2000-02-29T23:59:59.999999Z", "2026-11-21T02:15:00.123456Z",
    "2100-03-01T00:00:00.000001Z",
  ])
  func `times come back as they went`(_ time: String) throws {
    let line = String(decoding: Self.written(Self.samples[3]), as: UTF8.self)
    let other = line.replacing("2026-11-21T02:15:00.123456Z", with: time)
    let read = try #require(EventRecord(line: Array(other.utf8)[...]))
    #expect(String(decoding: Self.written(read), as: UTF8.self) == other)
  }

  @Test func `what a probe has found is read, and what a later one may find is unknown`() throws {
    let line = String(decoding: Self.written(Self.samples[5]), as: UTF8.self)
    func read(_ word: String) -> EventRecord? {
      EventRecord(line: Array(line.replacing(#""internet":"portal""#, with: "\"internet\":\(word)").utf8)[...])
    }
    #expect(line.contains(#""wifi":null,"internet":"portal"},"activity""#))
    for access in InternetAccess.allCases { #expect(read("\"\(access.rawValue)\"")?.internet == access) }
    #expect(read("\"slow\"")?.internet == .unknown)
    #expect(try #require(read("null")).internet == nil)
    #expect(try #require(read("7")).internet == nil)
    #expect(try #require(EventRecord(line: Self.written(Self.samples[2])[...])).internet == nil)
  }

  @Test func `a line of a later version is not read, an unknown key or reason is`() throws {
    let line = String(decoding: Self.written(Self.samples[2]), as: UTF8.self)
    func read(_ old: String, _ new: String) -> EventRecord? {
      EventRecord(line: Array(line.replacing(old, with: new).utf8)[...])
    }
    #expect(read(#""v":1"#, #""v":2"#) == nil)
    #expect(read(#""v":1"#, #""v":1,"more":{"x":[1]}"#) != nil)
    #expect(read("address_changed", "tomorrow")?.path.reason == .resynced)
    #expect(read(#""status":"wifi""#, #""status":"li-fi""#) == nil)
    for year in ["1969", "2263", "9999"] { #expect(read("2026-11-21", "\(year)-11-21") == nil) }
  }

  @Test func `mutated lines do no harm`() {
    var random = SplitMix(seed: 7)
    let lines = Self.samples.map(Self.written)
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      var line = lines.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...4, using: &random) where line.count > 1 {
        let place = Int.random(in: 0..<line.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: line[place] = UInt8.random(in: 0...255, using: &random)
        case 1: line.remove(at: place)
        case 2: line.insert(contentsOf: line[place..<min(place + 9, line.count)], at: place)
        default: line = Array(line[..<max(1, place)])
        }
      }
      if let record = EventRecord(line: line[...]) { _ = Self.written(record) }
    }
  }
}
