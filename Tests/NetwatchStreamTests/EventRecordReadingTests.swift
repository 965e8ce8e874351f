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
    var estimated = busy
    estimated.activity.datagrams = 1
    var both = connected
    both.activity.datagrams = 1
    var verdict = JSONLineTests.path().verdict
    verdict.ipv6 = .init(address: .v6(0x2001_0db8 << 96 | 5), gateway: .v6(0xfe80 << 112 | 1), interfaceIndex: 2)
    verdict.cost = LinkCost(.beacon, isConstrained: true)
    var probed = JSONLineTests.record(JSONLineTests.path(reason: .internetChanged))
    probed.internet = .portal
    var portal = probed
    portal.portalURL = PortalURL("https://login.example/?a=b")
    var staged = JSONLineTests.record(JSONLineTests.path(), .stages)
    staged.stages = NetworkStages {
      $0 == .gateway ? StageFinding(.neighbourFailed, .v4(0x0a00_00fe)) : StageFinding(.notExamined)
    }
    var wifi = verdict
    wifi.ssid = SSID(Array("home".utf8))
    var connection = WiFiConnection()
    connection.signal = WiFiSignal(dBm: -60)
    connection.accessPointAddress = 0x02_00_00_00_01_0a
    (connection.frequency, connection.receiveRate, connection.transmitRate) = (5_180, 433_300, 1_000)
    let roamed = NetworkPath(verdict: wifi, reason: .roamed, interfaces: [], connection: connection)
    var cut = JSONLineTests.record(JSONLineTests.path(.notReachable, reason: .noCarrier))
    cut.internet = .absent
    var quality = JSONLineTests.record(JSONLineTests.path(), .quality)
    quality.tellsQuality = true
    quality.quality = quality.path.carrier.map {
      LinkQuality(
        kernelName: $0.name, interfaceIndex: $0.index, connections: 5, tenthsOfMilliseconds: 234, tenthsOfPercent: nil)
    }
    var noQuality = JSONLineTests.record(JSONLineTests.path())
    noQuality.tellsQuality = true
    return [
      busy, connected,
      JSONLineTests.record(NetworkPath(verdict: verdict, reason: .addressChanged, interfaces: [])),
      JSONLineTests.record(JSONLineTests.path(.notReachable, reason: .noCarrier)),
      JSONLineTests.record(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []), .initial),
      probed, cut, JSONLineTests.record(roamed, .wifi), quality, noQuality, estimated, both, portal, staged,
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
    #expect(line.contains(#""wifi":null,"internet":"portal"},"sentence""#))
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

  // MARK: Numbers

  /// Returns the ranges of the numbers in a line, except those within strings.
  private static func numbers(in line: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var isText = false
    var place = 0
    while place < line.count {
      if line[place] == UInt8(ascii: "\"") { isText.toggle() }
      let start = place
      while !isText, place < line.count, "-0123456789".utf8.contains(line[place]) { place += 1 }
      if place > start { ranges.append(start..<place) } else { place += 1 }
    }
    return ranges
  }

  private static let extremes = [
    "\(Int64.min)", "\(Int64.max)", "\(UInt64.max)", "-1", "0", "\(Int32.max)", "\(Int64(Int32.max) + 1)",
    "\(Int32.min)", "\(UInt32.max)", "127", "-129", "1.5", "1e308", "-1e308", "1e-308", "9e999", "true", "null",
    "\"1\"",
    "99999999999999999999999999",
  ]

  @Test func `whatever number stands in a line, it is refused or can be written again`() {
    var random = SplitMix(seed: 11)
    var lines = Self.samples.map(Self.written)
    lines.append(Array(EventSchemaTests.full.utf8))
    for line in lines {
      for place in Self.numbers(in: line) {
        for number in Self.extremes { Self.check(line, [(place, number)]) }
      }
    }
    for _ in 0..<FuzzRounds.count(default: 20_000) / 4 {
      let line = lines.randomElement(using: &random) ?? []
      let places = Self.numbers(in: line).shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
      Self.check(
        line,
        places.map { place in
          let number = Int64(truncatingIfNeeded: random.next()) >> Int64.random(in: 0...63, using: &random)
          return (place, random.oneIn(2) ? Self.extremes.randomElement(using: &random) ?? "" : "\(number)")
        })
    }
  }

  private static func check(_ line: [UInt8], _ changes: [(place: Range<Int>, number: String)]) {
    var line = line
    for change in changes.sorted(by: { $0.place.lowerBound > $1.place.lowerBound }) {
      line.replaceSubrange(change.place, with: change.number.utf8)
    }
    guard var record = EventRecord(line: line[...]) else { return }
    // The reader accepts a line with the number zero, but the writer does not.
    record.sequence = max(record.sequence, 1)
    let again = written(record)
    #expect(EventRecord(line: again[...]) != nil, "\(String(decoding: again, as: UTF8.self))")
    keepLine(String(decoding: again, as: UTF8.self), of: "event")
    #expect(record.activity.inFlight >= 0 && record.activity.connections ?? 0 >= 0)
  }

  @Test func `impossible numbers in the service's statistics are read as 0`() throws {
    let answer =
      #"{"transitions":12,"netlink_overruns":13,"subscribers":14,"requests":15,"labels":[{"label":"a","requests":16}],"outages":{"no_route":17,"later":1},"outage_ms":18,"last_change_ms":19,"reason":"no_route"}"#
    func read(_ text: String) throws -> ServiceStatistics {
      ServiceStatistics(try #require(JSONValue(Array(text.utf8)[...])))
    }
    let right = try read(answer)
    #expect((right.transitions, right.netlinkOverruns, right.subscribers, right.requests) == (12, 13, 14, 15))
    #expect(right.labels == [NamedCount(name: "a", count: 16)])
    #expect(right.outages == [.noRoute: 17] && right.outageMilliseconds == 18)
    #expect(right.lastChangeMilliseconds == 19 && right.reason == .noRoute)
    let counts = #","outages":{"no_route":17},"outage_ms":18,"last_change_ms":19,"reason":"no_route"}}"#
    #expect(right.line.hasSuffix(counts + "\n"))
    for number in Self.extremes where number != "9e999" {
      for old in ["12", "13", "14", "15", "16", "17", "18", "19"] {
        let changed = try read(answer.replacing(old, with: number))
        #expect(changed.subscribers >= 0 && changed.requests >= 0 && changed.labels.allSatisfy { $0.count >= 0 })
        _ = changed.line
      }
    }
    // A service that is older than the key does not send it.
    #expect(try read(#"{"transitions":1}"#).outages == nil)
    #expect(try read(#"{"outages":[1]}"#).outages == [:])
    #expect(try read(#"{"labels":{}}"#).labels == [])
    #expect(try read(#"{"labels":[1,null,{"label":2},{"requests":3}]}"#).labels == [])
  }

  @Test func `no number of a caller's keeps a line from being written`() {
    for inFlight in [Int.min, -1, 0, Int.max] {
      for connections in [Int.min, -1, 0, Int.max] {
        var record = Self.samples[0]
        record.activity.inFlight = inFlight
        record.activity.connections = connections
        #expect(!Self.written(record).isEmpty)
      }
    }
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
