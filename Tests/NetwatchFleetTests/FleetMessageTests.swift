import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchFleet

/// Topics and payloads. The spool's lines are read again, whatever a disk has made of them.
@Suite struct FleetMessageTests {
  private static let run = FleetRun("00c0ffee")!
  private static let presence = FleetPresence(
    run: run, host: "a \"b\" \u{1b}[31m", time: 1_800_000_000_123_456_000, absence: .lost, silence: 90,
    labels: ["region": "north"], version: "1.2.3")

  private static func members(_ payload: [UInt8]) throws -> NSDictionary {
    #expect(!payload.contains { $0 < 0x20 }, "one line, with nothing that a terminal would act on")
    return try #require(try JSONSerialization.jsonObject(with: Data(payload)) as? NSDictionary)
  }

  @Test func `presences and signs say what they were made of`() throws {
    let lost: NSDictionary = [
      "v": 1, "run": "00c0ffee", "online": false, "absence": "lost", "host": "a \"b\" \u{1b}[31m",
      "time": "2027-01-15T08:00:00.123456Z", "silence": 90, "labels": ["region": "north"], "version": "1.2.3",
    ]
    #expect(try Self.members(Self.presence.payload) == lost)
    var presence = Self.presence
    presence.absence = nil
    let online = try Self.members(presence.payload)
    #expect(online["online"] as? Bool == true && online["absence"] == nil)
    let sign = FleetSign(run: Self.run, time: 1_800_000_000_000_000_000, waiting: 12)
    #expect(
      try Self.members(sign.payload)
        == ["v": 1, "run": "00c0ffee", "time": "2027-01-15T08:00:00.000000Z", "waiting": 12])
  }

  @Test func `lines and gaps are read as they were written`() throws {
    let line = FleetLine(run: Self.run, number: 7, content: .line(Array(#"{"a":1}"#.utf8)), since: 1_000_000_000)
    #expect(try Self.members(line.payload)["line"] as? NSDictionary == ["a": 1])
    let read = try #require(FleetLine(line.payload))
    #expect(read.run == Self.run && read.number == 7 && read.since == 1_000_000_000)
    let gap = FleetLine(run: Self.run, number: 7, content: .gap(3))
    #expect(FleetLine(gap.payload) == gap)
  }

  @Test func `a topic has the machine and the kind`() throws {
    let machine = try #require(MachineID("ad9540d9c7755d2b-6114afaab64fc1bb"))
    #expect(FleetTopic.line.topic(of: machine) == "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/line")
    #expect(FleetTopic.alive.topic(of: machine) == "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/alive")
  }

  @Test(
    arguments: [
      "", "x", "ad9540d9c7755d2b", "AD9540D9C7755D2B-6114AFAAB64FC1BB", "ad9540d9c7755d2b-6114afaab64fc1bb-",
      "ad9540d9c7755d2b-6114afaab64fc1b/", "ad9540d9c7755d2b-6114afaab64fc1bbb",
    ])
  func `anything else is no identity`(_ text: String) { #expect(MachineID(text) == nil) }

  @Test func `twenty thousand damaged lines do no harm`() {
    var random = SplitMix(seed: 60)
    let whole = [
      FleetLine(run: Self.run, number: 7, content: .line(Array(#"{"v":1}"#.utf8)), since: 5).payload,
      FleetLine(run: Self.run, number: 7, content: .gap(3)).payload,
    ]
    let pieces = ["-1", "1e308", "9223372036854775807", "null", "[]", "{}", "\"", "\\", "true", ",", "\u{0}"]
    var survivors = 0
    for _ in 0..<20_000 {
      var bytes = whole.randomElement(using: &random) ?? []
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 0...4, using: &random))
        bytes.replaceSubrange(start..<end, with: Array((pieces.randomElement(using: &random) ?? "").utf8))
      }
      guard let line = FleetLine(bytes) else { continue }
      survivors += 1
      #expect(line.number >= 1)
      if case .gap(let count) = line.content { #expect(1...line.number ~= count) }
    }
    #expect(survivors > 50)
  }
}
