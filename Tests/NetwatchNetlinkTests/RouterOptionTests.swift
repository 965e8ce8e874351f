import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire

/// Options of router advertisements, as the kernel passes them on.
@Suite struct RouterOptionTests {
  /// A message of Linux 6.18 about an advertisement over link 3 with the option 37.
  static func message(_ option: [UInt8], length: Int? = nil, family: UInt8 = 10, type: UInt8 = 134, index: Int32 = 3)
    -> [UInt8]
  {
    var message = MessageBuilder(type: RTM_NEWNDUSEROPT)
    message.append([family, 0] + MessageBuilder.raw(UInt16(length ?? option.count)) + MessageBuilder.raw(index))
    message.append([type, 0, 0, 0, 0, 0, 0, 0] + option)
    // NDUSEROPT_SRCADDR, the router.
    message.attribute(1, .ip("fe80::1"))
    return message.bytes
  }

  static let portal: [UInt8] = [37, 4] + Array("https://portal.example/api".utf8) + [0, 0, 0, 0]

  private static func option(_ bytes: [UInt8]) -> RouterOption? {
    var found: RouterOption?
    unsafe bytes.withUnsafeBytes { raw in
      let bytes = unsafe raw.bytes
      NetlinkMessage.forEach(in: bytes) { found = NetlinkDecoder.routerOption($0, bytes) }
    }
    return found
  }

  @Test func `the URI of a captive portal is read`() throws {
    #expect(
      Self.option(Self.message(Self.portal))
        == RouterOption(
          interfaceIndex: 3, content: .captivePortal(try #require(PortalAPI("https://portal.example/api")))))
  }

  @Test func `name servers are read with their lifetime`() {
    let addresses: [UInt8] =
      [0xfd] + [UInt8](repeating: 0, count: 14) + [1, 0xfd] + [UInt8](repeating: 0, count: 14) + [2]
    for (seconds, lifetime) in [
      ([0, 0, 2, 88], Duration.seconds(600)), ([255, 255, 255, 255], nil), ([0, 0, 0, 0], .zero),
    ]
      as [([UInt8], Duration?)]
    {
      #expect(
        Self.option(Self.message([25, 5, 0, 0] + seconds + addresses))?.content
          == .nameServers([.ip("fd00::1"), .ip("fd00::2")], lifetime: lifetime))
    }
    // An option without a whole address has none.
    #expect(Self.option(Self.message([25, 2, 0, 0, 0, 0, 0, 1] + addresses.prefix(8))) == nil)
    #expect(Self.option(Self.message([25, 1, 0, 0, 0, 0, 0, 1])) == nil)
  }

  @Test(arguments: [
    (UInt8(0), "64:ff9b:1:203:405:607::/96"), (1, "64:ff9b:1:203::/64"), (2, "64:ff9b:1:200::/56"),
    (3, "64:ff9b:1::/48"),
    (4, "64:ff9b::/40"), (5, "64:ff9b::/32"), (6, nil), (7, nil),
  ])
  func `the prefix of NAT64 is read with its length and its lifetime`(_ code: UInt8, _ text: String?) {
    let bits: [UInt8] = [0, 0x64, 0xff, 0x9b, 0, 1, 2, 3, 4, 5, 6, 7]
    // 75 units of eight seconds.
    let found = Self.option(Self.message([38, 2, 2, 0x58 | code] + bits))?.content
    let prefix = text.flatMap { NAT64Prefix($0) }
    #expect(prefix?.description == text)
    #expect(found == prefix.map { .translationPrefix($0, lifetime: .seconds(600)) })
    #expect(Self.option(Self.message([38, 3, 2, 0x58 | code] + bits + bits.prefix(8))) == nil)
    #expect(Self.option(Self.message([38, 1, 2, 0x58 | code] + bits.prefix(4))) == nil)
  }

  @Test func `other options, and those of lying lengths, are none`() {
    let others: [[UInt8]] = [
      Self.message([3, 4] + Self.portal.dropFirst(2)), Self.message(Self.portal, family: 2),
      Self.message(Self.portal, type: 133),
      Self.message(Self.portal, index: 0), Self.message(Self.portal, length: 16),
      Self.message([37, 0] + Self.portal.dropFirst(2)),
      Self.message([37, 255] + Self.portal.dropFirst(2)), Self.message([37]), Self.message([]),
      Self.message([37, 1, 0, 0, 0, 0, 0, 0]),
    ]
    for bytes in others { #expect(Self.option(bytes) == nil) }
    let whole = Self.message(Self.portal)
    for length in 16..<whole.count {
      var cut = Array(whole[..<length])
      cut.replaceSubrange(0..<4, with: MessageBuilder.raw(UInt32(length)))
      _ = Self.option(cut)
    }
  }

  @Test func `random bytes do no harm`() {
    var random = SplitMix(seed: 910)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        UInt8.random(in: .min ... .max, using: &random)
      }
      _ = Self.option(Self.message(bytes, length: Int.random(in: 0...90, using: &random)))
    }
  }
}
