import CLibNetlink
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct WirelessLyingLengthTests {
  @Test func `messages behind one another are read in order, with their places`() {
    let results = Wireless.all(WirelessCorpus.all.flatMap(padded))
    #expect(results.map(\.range.count) == WirelessCorpus.all.map(\.count))
    #expect(results.map(\.message) == WirelessCorpus.all.flatMap { Wireless.messages($0) })
    #expect(results.filter { $0.frame.kind == .payload && $0.message == .ignored }.count == 1)
  }

  @Test func `a datagram that is cut anywhere is read up to there`() {
    let first = padded(WirelessCorpus.disconnected)
    for message in WirelessCorpus.all {
      for count in 0..<message.count {
        #expect(Wireless.messages(first + message[..<count]) == Wireless.messages(first))
      }
    }
  }

  @Test func `a message that says it is shorter is read as far as it says`() {
    for message in WirelessCorpus.all {
      for length in 0...message.count {
        let first = Wireless.all(MessageBuilder.raw(UInt32(length)) + message[4...]).first
        #expect((first == nil) == (length < 16))
        if let first { #expect(first.range == 0..<length) }
      }
    }
  }

  @Test func `a message that says it is longer is left out`() {
    for message in WirelessCorpus.all {
      for length in [UInt32(message.count + 1), 0x7fff_ffff, 0x8000_0000, .max] {
        #expect(Wireless.all(MessageBuilder.raw(length) + message[4...]).isEmpty)
      }
    }
  }

  @Test func `every pair of bytes may lie about a length`() {
    for message in WirelessCorpus.all {
      for offset in stride(from: 16, to: message.count - 1, by: 2) {
        for lie in [UInt16(0), 1, 3, 4, 5, 0x7fff, .max] {
          var bytes = message
          bytes.replaceSubrange(offset..<(offset + 2), with: MessageBuilder.raw(lie))
          #expect(Wireless.all(bytes).count == 1)
        }
      }
    }
  }

  @Test func `nested lengths may not reach beyond what nests them`() {
    let signal = MessageBuilder.raw(UInt16(9)) + MessageBuilder.raw(UInt16(NL80211_STA_INFO_SIGNAL.rawValue))
    let bytes = MessageBuilder.wireless(NL80211_CMD_NEW_STATION) {
      $0.attribute(Int(NL80211_ATTR_STA_INFO.rawValue), signal)
      $0.attribute(Int(NL80211_ATTR_IFINDEX.rawValue), number: Int32(3))
    }
    let content = Wireless.content(bytes)
    #expect((content?.connection.signal, content?.index) == (nil, 3))
  }

  @Test(arguments: [UInt64(21), 22])
  func `mutated messages do no harm`(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    var contents = 0
    for round in 0..<FuzzRounds.count(default: 40_000) / 2 {
      var bytes: [UInt8] = []
      for _ in 0..<(random.oneIn(4) ? 3 : 1) {
        bytes += padded(Mutation.message(from: WirelessCorpus.all, &random))
      }
      let results = Wireless.all(bytes, family: random.oneIn(8) ? nil : WirelessCorpus.family)
      if let fault = fault(results, bytes.count) {
        Issue.record("seed \(seed), round \(round): \(fault)")
        return
      }
      for case .wireless(let content) in results.map(\.message) {
        contents += 1
        _ = (
          content.connection.signal?.percent, content.connection.band, content.connection.accessPoint,
          content.joinedAccessPoint
        )
        for ssid in [content.ssid, content.joined?.ssid].compactMap(\.self) where ssid.isHidden || ssid.count > 32 {
          Issue.record("seed \(seed), round \(round): \(ssid.hex)")
        }
        if content.index ?? 1 <= 0 { Issue.record("seed \(seed), round \(round): \(content)") }
      }
    }
    #expect(contents > 0)
  }

  private func fault(_ results: [Wireless.Result], _ count: Int) -> String? {
    let places = results.map(\.range)
    let areInside = places.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= count && $0.count >= 16 }
    let areInOrder = zip(places, places.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
    return areInside && areInOrder ? nil : "places \(places) in \(count) bytes"
  }

  private func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }
}
