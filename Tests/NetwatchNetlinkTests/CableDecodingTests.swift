import CLibNetlink
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// What the kernel's ethtool family says about cables.
@Suite struct CableDecodingTests {
  // Linux 6.18, about a veth without and with a carrier, and about a card whose driver does not know the speed.
  private static let peerless = Corpus.bytes(
    """
    580000001500000007000000e14900000401000014000180080001000300000007000200763000000500020000000000100003800800
    020079000000040003800800050010270000050006000100000005000a0000000000
    """)
  private static let unplugged = Corpus.bytes(
    """
    300000001500000007000000e14900000601000014000180080001000300000007000200763000000500020000000000
    """)
  private static let unknown = Corpus.bytes(
    """
    5c0000001500000007000000424a000004010000180001800800010004000000090002006574683000000000050002000000000010000380
    08000200790000000400038008000500ffffffff05000600ff00000005000a0000000000
    """)

  /// Returns what the messages say about a link.
  private static func cable(_ name: String, _ messages: [UInt8]...) -> CableState? {
    var all = CableReader.Answer()
    unsafe messages.flatMap { $0 }.withUnsafeBytes { raw in
      let bytes = unsafe raw.bytes
      NetlinkMessage.forEach(in: bytes) { all.merge(CableReader.Answer($0, bytes)) }
    }
    guard all.name == InterfaceName(name) else { return nil }
    return all.cable(of: InterfaceName(name))
  }

  /// A response to LINKMODES_GET about a card `eth0`, as <linux/ethtool_netlink.h> describes it.
  ///
  /// - Parameters:
  ///   - modes: The supported modes, and whether they are offered.
  ///   - peer: The modes that the other end offers; nil if there is no such list.
  private static func answer(speed: UInt32, duplex: UInt8, _ modes: [(String, Bool)], peer: [String]?) -> [UInt8] {
    func set(_ bits: [(String, Bool)]) -> [UInt8] {
      let bits = bits.enumerated().flatMap { index, bit in
        MessageBuilder.attribute(
          1,
          MessageBuilder.attribute(1, MessageBuilder.raw(UInt32(index)))
            + MessageBuilder.attribute(2, Array(bit.0.utf8) + [0]) + (bit.1 ? MessageBuilder.attribute(3, []) : []))
      }
      return MessageBuilder.attribute(2, MessageBuilder.raw(UInt32(121))) + MessageBuilder.attribute(3, bits)
    }
    var message = MessageBuilder(type: 21)
    message.append([UInt8(ETHTOOL_MSG_LINKMODES_GET_REPLY), 1, 0, 0])
    message.attribute(
      1,
      MessageBuilder.attribute(1, MessageBuilder.raw(UInt32(4))) + MessageBuilder.attribute(2, Array("eth0".utf8) + [0])
    )
    message.attribute(3, set(modes))
    if let peer { message.attribute(4, set(peer.map { ($0, false) })) }
    message.attribute(5, number: speed)
    message.attribute(6, [duplex])
    return message.bytes
  }

  /// A response to LINKSTATE_GET about a card `eth0` without a carrier.
  private static func state(_ reason: UInt8) -> [UInt8] {
    var message = MessageBuilder(type: 21)
    message.append([UInt8(ETHTOOL_MSG_LINKSTATE_GET_REPLY), 1, 0, 0])
    message.attribute(1, MessageBuilder.attribute(2, Array("eth0".utf8) + [0]))
    message.attribute(2, [0])
    message.attribute(5, [reason])
    return message.bytes
  }

  private static let gigabit = [
    ("Autoneg", true), ("TP", true), ("10baseT/Half", true), ("100baseT/Full", true), ("1000baseT/Full", true),
    ("2500baseT/Full", false),
  ]

  @Test func `what the driver says is read`() {
    #expect(Self.cable("v0", Self.peerless, Self.unplugged)?.words == "10000 Mb/s, full duplex")
    let all = Self.cable(
      "eth0", Self.answer(speed: 1000, duplex: 1, Self.gigabit, peer: ["Autoneg", "100baseT/Full", "1000baseT/Full"]))
    #expect(all?.words == "1000 Mb/s, full duplex")
    #expect(all?.modes == ["10baseT/Half", "100baseT/Full", "1000baseT/Full"])
    #expect(all?.peerModes == ["100baseT/Full", "1000baseT/Full"])
    #expect(all?.possibleMegabitsPerSecond == 1000)
    #expect(all?.missedMegabitsPerSecond == nil)
  }

  @Test func `a speed below what both ends can do is told`() {
    let peer = ["100baseT/Full", "1000baseT/Full", "2500baseT/Full"]
    let slow = Self.cable("eth0", Self.answer(speed: 100, duplex: 0, Self.gigabit, peer: peer))
    #expect(slow?.words == "100 Mb/s although both ends can do 1000, half duplex")
    // 1000baseX is another medium: no mode of it is common.
    let other = Self.cable(
      "eth0", Self.answer(speed: 100, duplex: 1, Self.gigabit, peer: ["100baseT/Full", "1000baseX/Full"]))
    #expect(other?.missedMegabitsPerSecond == nil)
    let silent = Self.cable("eth0", Self.answer(speed: 100, duplex: 1, Self.gigabit, peer: nil))
    #expect(silent?.words == "100 Mb/s, full duplex")
  }

  @Test func `a speed that is not known is not guessed`() {
    #expect(Self.cable("eth0", Self.unknown)?.isEmpty == true)
    for speed in [0, .max, 1 << 31] as [UInt32] {
      #expect(Self.cable("eth0", Self.answer(speed: speed, duplex: 7, [], peer: []))?.isEmpty == true)
    }
  }

  @Test func `each reason for no carrier has its word`() {
    let reasons = (0...11).map { Self.cable("eth0", Self.state($0))?.absence }
    #expect(reasons == CableState.Absence.allCases.map { $0 } + [nil])
    // ETHTOOL_LINK_EXT_STATE_NO_CABLE and ETHTOOL_LINK_EXT_STATE_OVERHEAT of <linux/ethtool.h>.
    #expect(reasons[4] == .noCable)
    #expect(reasons[9] == .overheated)
    #expect(Self.cable("eth0", Self.state(4))?.words == "no cable is plugged in")
  }

  @Test func `an answer about another link says nothing`() {
    #expect(Self.cable("eth1", Self.state(4)) == nil)
    #expect(Self.cable("eth1", Self.unknown) == nil)
  }

  @Test func `mutated answers do no harm`() {
    var random = SplitMix(seed: 57)
    let corpus = [
      Self.peerless, Self.unplugged, Self.unknown, Self.state(4),
      Self.answer(speed: 100, duplex: 1, Self.gigabit, peer: ["100baseT/Full"]),
    ]
    for _ in 0..<FuzzRounds.count(default: 20_000) { _ = Self.cable("eth0", Mutation.message(from: corpus, &random)) }
  }
}
