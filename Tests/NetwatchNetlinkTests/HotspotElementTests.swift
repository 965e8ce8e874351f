import CLibNetlink
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Information elements of access points that say that their network is metered.
@Suite struct HotspotElementTests {
  private static let microsoft: [UInt8] = [0x00, 0x50, 0xf2, 0x11]
  private static let apple: [UInt8] = [0x00, 0x17, 0xf2, 0x06]
  private static let name: [UInt8] = [0, 4] + Array("home".utf8)
  /// The features that an iPhone's hotspot sends, and those of a device that is recognized as a hotspot.
  private static let features: [[UInt8]] = [[1, 1, 3, 3, 0, 0], [1, 1, 3, 1, 0, 0]]
  private static let address: [UInt8] = [2, 1, 6, 0x58, 0xe2, 0x8f, 0x7c, 0x0b, 0xb3]

  private static func vendor(_ prefix: [UInt8], _ content: [UInt8]) -> [UInt8] {
    [221, UInt8(prefix.count + content.count)] + prefix + content
  }

  private static func mark(
    _ elements: [UInt8], _ status: nl80211_bss_status = NL80211_BSS_STATUS_ASSOCIATED
  ) -> MeteredMark? {
    Wireless.content(MessageBuilder.network(status, elements))?.joined?.metered
  }

  @Test(
    arguments: [
      // The bytes are the level, a reserved byte, the flags and a reserved byte.
      ([2, 0, 0, 0], true), ([4, 0, 0, 0], true), ([2, 0, 2, 0], true), ([4, 0, 5, 0], true), ([1, 0, 0, 0], false),
      ([1, 0, 8, 0], false), ([0, 0, 0, 0], false), ([0, 0, 7, 0], false),
      // The element can also be one number, with the highest byte first.
      ([0, 0, 0, 2], true), ([0, 2, 0, 4], true), ([0, 0, 0, 1], false),
      // One element is too short, and one is of a later version.
      ([2, 0, 0], false), ([], false), ([2, 0, 0, 0, 9, 9], true),
    ] as [([UInt8], Bool)])
  func `a network cost above unrestricted is a mark`(_ cost: [UInt8], _ isMetered: Bool) {
    let element = Self.vendor(Self.microsoft, cost)
    for elements in [element, Self.name + element, element + Self.name] {
      #expect(Self.mark(elements) == (isMetered ? .networkCost : nil))
    }
  }

  @Test func `the element of a personal hotspot is a mark`() {
    for features in Self.features {
      #expect(Self.mark(Self.name + Self.vendor(Self.apple, features)) == .personalHotspot)
      #expect(Self.mark(Self.vendor(Self.apple, Self.address + features)) == .personalHotspot)
      #expect(
        Self.mark(Self.vendor(Self.apple, Self.address) + Self.vendor(Self.apple, features)) == .personalHotspot)
    }
    #expect(
      Self.mark(Self.vendor(Self.apple, Self.features[0]) + Self.vendor(Self.microsoft, [2, 0, 0, 0])) == .networkCost)
  }

  @Test(arguments: [
    // WPA, WMM and WPS also have Microsoft's prefix. An AirPort base station sends elements of type 1 with Apple's
    // prefix.
    vendor([0x00, 0x50, 0xf2, 0x01], [2, 0, 0, 0]), vendor([0x00, 0x50, 0xf2, 0x02], [2, 0, 0, 0]),
    vendor([0x00, 0x50, 0xf2, 0x04], [2, 0, 0, 0]), vendor([0x00, 0x17, 0xf2, 0x01], [1, 1, 3, 3, 0, 0]),
    vendor([0x50, 0x00, 0xf2, 0x11], [2, 0, 0, 0]), vendor(apple, address), vendor(apple, []),
    vendor(apple, [1, 1, 0]),
    vendor(apple, [1, 1, 9, 0]), vendor(apple, [9, 1, 200, 1, 1, 1, 0]), vendor([0x00, 0x50], []), [221, 0], [221],
    [200, 8] + microsoft + [2, 0, 0, 0], [221, 9] + microsoft + [2, 0, 0, 0],
    [0, 9, 221, 8] + microsoft + [2, 0, 0, 0],
  ])
  func `nothing else is a mark`(_ elements: [UInt8]) { #expect(Self.mark(elements) == nil) }

  @Test func `only the network that is joined counts, by its answer or its beacon`() {
    let element = Self.vendor(Self.microsoft, [2, 0, 0, 0])
    #expect(Self.mark(element, NL80211_BSS_STATUS_IBSS_JOINED) == .networkCost)
    #expect(Self.mark(element, NL80211_BSS_STATUS_AUTHENTICATED) == nil)
    let beacon = MessageBuilder.attribute(Int(NL80211_BSS_BEACON_IES.rawValue), element)
    let answer = MessageBuilder.attribute(Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue), Self.name)
    let status = MessageBuilder.attribute(
      Int(NL80211_BSS_STATUS.rawValue), MessageBuilder.raw(NL80211_BSS_STATUS_ASSOCIATED.rawValue))
    for parts in [beacon + answer + status, status + answer + beacon] {
      let message = MessageBuilder.wireless(NL80211_CMD_NEW_SCAN_RESULTS, link: 2) {
        $0.attribute(Int(NL80211_ATTR_BSS.rawValue), parts)
      }
      let joined = Wireless.content(message)?.joined
      #expect(joined?.metered == .networkCost && joined?.ssid?.text == "home")
    }
  }

  @Test(arguments: [UInt64(31), 32])
  func `mutated elements do no harm, and no mark is without its element`(_ seed: UInt64) {
    let elements = [
      Self.name + Self.vendor(Self.microsoft, [2, 0, 0, 0]), Self.vendor(Self.apple, Self.address + Self.features[0]),
      Self.vendor(Self.microsoft, [0, 0, 0, 4]) + Self.name + Self.vendor(Self.apple, Self.features[1]),
      Self.vendor(Self.microsoft, [1, 0, 0, 0]) + Self.vendor([0x00, 0x50, 0xf2, 0x02], Self.address),
    ]
    let corpus =
      elements.map { MessageBuilder.network(NL80211_BSS_STATUS_ASSOCIATED, $0) }
      + [WirelessCorpus.networkJoined, WirelessCorpus.hiddenNetworkJoined]
    var random = SplitMix(seed: seed)
    var marks = 0
    for round in 0..<FuzzRounds.count(default: 20_000) / 2 {
      let bytes = Mutation.message(from: corpus, &random)
      for case .wireless(let content) in Wireless.messages(bytes) {
        guard let mark = content.joined?.metered else { continue }
        marks += 1
        let needed = mark == .networkCost ? Self.microsoft : Self.apple
        guard bytes.indices.contains(where: { bytes[$0...].starts(with: needed) }) else {
          Issue.record("seed \(seed), round \(round): \(mark)")
          return
        }
      }
    }
    #expect(marks > 0)
  }
}
