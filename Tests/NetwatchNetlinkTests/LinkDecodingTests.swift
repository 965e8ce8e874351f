import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct LinkDecodingTests {
  @Test func `loopback`() throws {
    let fact = try #require(Decoding.link(Corpus.loopback))
    #expect(fact.index == 1)
    #expect(fact.name == "lo")
    #expect(fact.hardwareType == 772)
    #expect(fact.kind == nil)
    #expect(fact.flags & Interface.loopbackFlag != 0)
    #expect(fact.operationalState == .unknown)
    #expect(fact.hardwareAddress == 0)
    #expect(fact.isComplete)
  }

  @Test func `a veth pair, down, up and without its peer`() throws {
    let down = try #require(Decoding.link(Corpus.vethDown))
    #expect((down.index, down.name, down.kind) == (3, "v0", "veth"))
    #expect(down.operationalState == .down)
    #expect(down.flags & Interface.upFlag == 0)
    #expect(down.lowerIndex == 2)
    let up = try #require(Decoding.link(Corpus.vethUp))
    #expect(up.operationalState == .up)
    #expect(up.flags & Interface.relevantFlags == LinkState.up.flags)
    #expect(up.hardwareAddress == down.hardwareAddress)
    let alone = try #require(Decoding.link(Corpus.vethWithoutPeer))
    #expect(alone.operationalState == .lowerLayerDown)
    #expect(alone.flags & Interface.relevantFlags == LinkState.noCarrier.flags)
  }

  @Test func `an index in another namespace names no link of this one`() throws {
    let fact = try #require(Decoding.link(Corpus.vethToElsewhere))
    #expect(fact.name == "y0")
    #expect(fact.lowerIndex == nil)
  }

  @Test func `a bridge without ports says that it is up, and a port names its bridge`() throws {
    let bridge = try #require(Decoding.link(Corpus.emptyBridge))
    #expect(bridge.kind == "bridge")
    #expect(bridge.flags & Interface.relevantFlags == LinkState.up.flags)
    let port = try #require(Decoding.link(Corpus.bridgePort))
    #expect(port.masterIndex == 4)
    #expect(port.kind == "veth")
  }

  @Test func `a bridge's own messages about its ports delete no link`() {
    #expect(Decoding.messages(Corpus.portOfBridgeFamily) == [.ignored])
    #expect(Decoding.messages(Corpus.portRemovedOfBridgeFamily) == [.ignored])
    #expect(Decoding.all(Corpus.portRemovedOfBridgeFamily).map { Int($0.frame.type) } == [RTM_DELLINK])
    #expect(Decoding.messages(Corpus.linkRemoved) == [.event(.linkRemoved(index: 3))])
  }

  @Test func `a tunnel`() throws {
    let fact = try #require(Decoding.link(Corpus.tun))
    #expect((fact.name, fact.kind, fact.hardwareType) == ("tun0", "tun", 65534))
    #expect(fact.hardwareAddress == nil || fact.hardwareAddress == 0)
  }

  struct Kind: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var kind: String? = nil
    var hardwareType: UInt16 = 1
    var flags: UInt32 = LinkState.up.flags
    var operationalState: OperationalState = .up
    var lower: Int32? = nil
  }

  @Test(arguments: [
    Kind(testDescription: "wwan0", kind: "wwan", hardwareType: 65534, operationalState: .unknown),
    Kind(testDescription: "wlan0", flags: LinkState.dormant.flags, operationalState: .dormant),
    Kind(testDescription: "usb0", operationalState: .unknown), Kind(testDescription: "bnep0"),
    Kind(testDescription: "ppp0", kind: "ppp", hardwareType: 512, operationalState: .unknown),
    Kind(testDescription: "wg0", kind: "wireguard", hardwareType: 65534, operationalState: .unknown),
    Kind(testDescription: "eth0.5", kind: "vlan", lower: 2), Kind(testDescription: "mv0", kind: "macvlan", lower: 2),
    Kind(testDescription: "bond0", kind: "bond"), Kind(testDescription: "vrf0", kind: "vrf"),
    Kind(testDescription: "abcdefghijklmno", kind: "wireguard"),
  ])
  func `kinds that this corpus lacks`(_ kind: Kind) throws {
    let bytes = MessageBuilder.link(7, hardwareType: kind.hardwareType, flags: kind.flags) {
      $0.attribute(IFLA_IFNAME, text: kind.testDescription)
      $0.attribute(IFLA_OPERSTATE, number: kind.operationalState.rawValue)
      $0.attribute(IFLA_ADDRESS, [0x02, 0, 0, 0, 0, 0x2a])
      if let lower = kind.lower { $0.attribute(IFLA_LINK, number: lower) }
      if let name = kind.kind {
        let data = MessageBuilder.attribute(2, [1, 2, 3]) + MessageBuilder.attribute(IFLA_INFO_KIND, Array(name.utf8))
        // Some kernels set the bit NLA_F_NESTED in the type of nested attributes.
        $0.attribute(IFLA_LINKINFO | 0x8000, data)
      }
    }
    var expected = LinkUpdate(index: 7, flags: kind.flags, hardwareType: kind.hardwareType)
    expected.isComplete = true
    expected.name = InterfaceName(kind.testDescription)
    expected.kind = kind.kind
    expected.operationalState = kind.operationalState
    expected.lowerIndex = kind.lower
    expected.hardwareAddress = 0x0200_0000_002a
    #expect(Decoding.messages(bytes) == [.event(.link(expected))])
  }

  @Test func `an event of the wireless extensions is partial`() throws {
    let bytes = MessageBuilder.link(3, flags: 0x1003) {
      $0.attribute(IFLA_IFNAME, text: "wlan0")
      $0.attribute(IFLA_WIRELESS, [UInt8](repeating: 7, count: 20))
    }
    let fact = try #require(Decoding.link(bytes))
    #expect(!fact.isComplete)
    #expect((fact.name, fact.operationalState, fact.hardwareAddress) == ("wlan0", nil, nil))
  }

  @Test func `names that are not UTF-8 are repaired, long addresses cut`() throws {
    let bytes = MessageBuilder.link(3) {
      $0.attribute(IFLA_IFNAME, [0x61, 0xff, 0x62, 0, 0x63])
      $0.attribute(IFLA_ADDRESS, (1...20).map { UInt8($0) })
      $0.attribute(IFLA_OPERSTATE, number: UInt8(99))
    }
    let fact = try #require(Decoding.link(bytes))
    #expect(fact.name?.text == "a\u{fffd}b")
    #expect(fact.hardwareAddress == 0x0102_0304_0506_0708)
    #expect(fact.operationalState == nil)
    #expect(fact.isComplete)
  }

  @Test(arguments: [Int32(0), -1, .min])
  func `an index that no link can have is ignored`(_ index: Int32) {
    #expect(Decoding.messages(MessageBuilder.link(index)) == [.ignored])
    #expect(Decoding.messages(MessageBuilder.link(index, type: RTM_DELLINK)) == [.ignored])
  }
}
