import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchFleet

/// Topics and payloads, which strangers may send too.
@Suite struct FleetMessageTests {
  private static let run = FleetRun("00c0ffee")!
  private static let presence = FleetPresence(
    run: run, host: "a \"b\" \u{1b}[31m", time: 1_800_000_000_123_456_000, absence: .lost, silence: 90,
    labels: ["region": "north"], version: "1.2.3")

  @Test func `payloads are read as they were written`() throws {
    #expect(FleetPresence(Self.presence.payload) == Self.presence)
    var online = Self.presence
    online.absence = nil
    #expect(FleetPresence(online.payload) == online)
    let sign = FleetSign(run: Self.run, time: 1_800_000_000_000_000_000, waiting: 12)
    #expect(FleetSign(sign.payload) == sign)
    let line = FleetLine(run: Self.run, number: 7, content: .line(Array(#"{"a":1}"#.utf8)), since: 1_000_000_000)
    let read = try #require(FleetLine.parse(line.payload))
    #expect(read.value == .object(["a": .integer(1)]) && read.line.number == 7 && read.line.since == 1_000_000_000)
    let gap = FleetLine(run: Self.run, number: 7, content: .gap(3))
    #expect(FleetLine.parse(gap.payload)?.line == gap)
  }

  @Test func `a payload is one line of JSON, and shows nothing that a terminal would act on`() throws {
    for payload in [Self.presence.payload, FleetSign(run: Self.run, time: 0, waiting: 0).payload] {
      _ = try JSONSerialization.jsonObject(with: Data(payload))
      #expect(!payload.contains { $0 < 0x20 })
    }
  }

  @Test(
    arguments: [
      "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/line", "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/presence",
      "netwatch/1/0000000000000000-0000000000000000/alive",
    ])
  func `a topic has a machine and a kind`(_ topic: String) throws {
    let parsed = try #require(FleetTopic.parse(topic))
    #expect(parsed.kind.topic(of: parsed.machine) == topic)
    #expect(FleetTopic.parse(topic.replacingOccurrences(of: "/", with: "."), separator: ".")?.machine == parsed.machine)
  }

  @Test(
    arguments: [
      "", "netwatch", "netwatch/1/x/line", "netwatch/2/ad9540d9c7755d2b-6114afaab64fc1bb/line",
      "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/other", "netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/line/x",
      "netwatch/1/AD9540D9C7755D2B-6114AFAAB64FC1BB/line", "netwatch/1/ad9540d9c7755d2b/line",
      "/netwatch/1/ad9540d9c7755d2b-6114afaab64fc1bb/line", "netwatch/1//line",
    ])
  func `anything else is none of a machine`(_ topic: String) { #expect(FleetTopic.parse(topic) == nil) }

  @Test func `twenty thousand damaged payloads do no harm`() {
    var random = SplitMix(seed: 60)
    let whole = [
      Self.presence.payload, FleetSign(run: Self.run, time: 5, waiting: 3).payload,
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
      if let presence = FleetPresence(bytes) {
        survivors += 1
        #expect(FleetPresence(presence.payload) == presence && 1...86_400 ~= presence.silence)
      }
      if let sign = FleetSign(bytes) { #expect(sign.waiting >= 0) }
      if let line = FleetLine.parse(bytes)?.line {
        #expect(line.number >= 1)
        if case .gap(let count) = line.content { #expect(1...line.number ~= count) }
      }
    }
    #expect(survivors > 50)
  }
}
