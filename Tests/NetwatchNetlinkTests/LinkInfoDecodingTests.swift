import CLibNetlink
import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// What drivers say about software links: the other end, the link beneath, and the active port.
@Suite struct LinkInfoDecodingTests {
  static let remote4 = InternetAddress.ip("198.51.100.7")
  static let remote6 = InternetAddress.ip("2001:db8:9::7")

  // MARK: Recorded messages

  struct Recorded: CustomTestStringConvertible, Sendable {
    var testDescription: String { name }
    let bytes: [UInt8]
    let name: String
    let kind: String
    var hardwareType: UInt16 = 1
    var lower: Int32? = nil
    var remote: InternetAddress? = nil
    var activePort: Int32? = nil
  }

  @Test(arguments: [
    // The lower link of VXLAN is only among the driver's own attributes.
    Recorded(bytes: Corpus.vxlan, name: "vx4", kind: "vxlan", lower: 3, remote: remote4),
    Recorded(bytes: Corpus.vxlanIPv6, name: "vx6", kind: "vxlan", remote: remote6),
    Recorded(bytes: Corpus.gre, name: "gre1", kind: "gre", hardwareType: 778, lower: 12, remote: remote4),
    Recorded(
      bytes: Corpus.greWithoutLink, name: "gre2", kind: "gre", hardwareType: 778, remote: .ip("198.51.100.8")),
    Recorded(bytes: Corpus.sit, name: "sit1", kind: "sit", hardwareType: 776, remote: .ip("198.51.100.10")),
    Recorded(bytes: Corpus.wireguard, name: "wg0", kind: "wireguard", hardwareType: 65534),
    Recorded(bytes: Corpus.bond, name: "bond7", kind: "bond", activePort: 23),
  ])
  func `recorded link messages are decoded`(_ recorded: Recorded) throws {
    let fact = try #require(Decoding.link(recorded.bytes))
    #expect(fact.name == InterfaceName(recorded.name))
    #expect(fact.kind == recorded.kind)
    #expect(fact.hardwareType == recorded.hardwareType)
    #expect(fact.lowerIndex == recorded.lower)
    #expect(fact.remote == recorded.remote)
    #expect(fact.activePortIndex == recorded.activePort)
    #expect(fact.isComplete)
  }

  // MARK: Messages that follow the kernel's headers

  static func link(
    _ kind: String, dataFirst: Bool = false, elsewhere: Bool = false, lower: Int32? = nil,
    _ data: (type: Int, value: [UInt8])...
  ) -> LinkUpdate? {
    Decoding.link(message(kind, dataFirst: dataFirst, elsewhere: elsewhere, lower: lower, data))
  }

  static func message(
    _ kind: String, dataFirst: Bool = false, elsewhere: Bool = false, lower: Int32? = nil,
    _ data: [(type: Int, value: [UInt8])]
  ) -> [UInt8] {
    let name = MessageBuilder.attribute(IFLA_INFO_KIND, Array(kind.utf8) + [0])
    let values = MessageBuilder.attribute(
      IFLA_INFO_DATA | 0x8000, data.flatMap { MessageBuilder.attribute($0.type, $0.value) })
    return MessageBuilder.link(7) {
      $0.attribute(IFLA_IFNAME, text: "any0")
      $0.attribute(IFLA_OPERSTATE, number: UInt8(0))
      if elsewhere { $0.attribute(IFLA_LINK_NETNSID, number: Int32(0)) }
      if let lower { $0.attribute(IFLA_LINK, number: lower) }
      $0.attribute(IFLA_LINKINFO, dataFirst ? values + name : name + values)
    }
  }

  struct Remote: CustomTestStringConvertible, Sendable {
    var testDescription: String { kind }
    let kind: String
    let type: Int
    var address = remote4
  }

  static let remotes = [
    Remote(kind: "ipip", type: IFLA_IPTUN_REMOTE), Remote(kind: "sit", type: IFLA_IPTUN_REMOTE),
    Remote(kind: "ip6tnl", type: IFLA_IPTUN_REMOTE, address: remote6), Remote(kind: "gre", type: IFLA_GRE_REMOTE),
    Remote(kind: "gretap", type: IFLA_GRE_REMOTE), Remote(kind: "erspan", type: IFLA_GRE_REMOTE),
    Remote(kind: "ip6gre", type: IFLA_GRE_REMOTE, address: remote6),
    Remote(kind: "ip6gretap", type: IFLA_GRE_REMOTE, address: remote6),
    Remote(kind: "ip6erspan", type: IFLA_GRE_REMOTE, address: remote6), Remote(kind: "vti", type: IFLA_VTI_REMOTE),
    Remote(kind: "vti6", type: IFLA_VTI_REMOTE, address: remote6), Remote(kind: "vxlan", type: IFLA_VXLAN_GROUP),
    Remote(kind: "vxlan", type: IFLA_VXLAN_GROUP6, address: remote6), Remote(kind: "geneve", type: IFLA_GENEVE_REMOTE),
    Remote(kind: "geneve", type: IFLA_GENEVE_REMOTE6, address: remote6),
  ]

  @Test(arguments: remotes)
  func `the other end of each kind`(_ remote: Remote) throws {
    let value = remote.address.networkOrder
    #expect(try #require(Self.link(remote.kind, (remote.type, value))).remote == remote.address)
    #expect(try #require(Self.link(remote.kind, dataFirst: true, (remote.type, value))).remote == remote.address)
    // A value that is too short is no address.
    #expect(try #require(Self.link(remote.kind, (remote.type, Array(value.dropLast())))).remote == nil)
    // A tunnel to anybody or to a group has no other end.
    let zeros = [UInt8](repeating: 0, count: value.count)
    #expect(try #require(Self.link(remote.kind, (remote.type, zeros))).remote == nil)
    let group: InternetAddress = value.count == 4 ? .ip("239.1.1.1") : .ip("ff05::1")
    #expect(try #require(Self.link(remote.kind, (remote.type, group.networkOrder))).remote == nil)
  }

  /// The same attribute numbers have other meanings for other drivers.
  @Test(arguments: ["veth", "bridge", "wireguard", "tun", "xfrm", "macvlan", "vlan", "geneve9", "", "bondage"])
  func `other kinds name no other end, whatever their attributes`(_ kind: String) throws {
    for type in 0..<16 {
      let fact = try #require(Self.link(kind, (type, Self.remote4.networkOrder), (type, Self.remote6.networkOrder)))
      #expect(fact.remote == nil)
      #expect(fact.activePortIndex == nil)
      #expect(fact.lowerIndex == nil)
    }
  }

  @Test func `attributes of a driver without its name mean nothing`() throws {
    let data = MessageBuilder.attribute(IFLA_INFO_DATA, MessageBuilder.attribute(IFLA_GRE_REMOTE, [198, 51, 100, 7]))
    let bytes = MessageBuilder.link(7) { $0.attribute(IFLA_LINKINFO, data) }
    #expect(try #require(Decoding.link(bytes)).remote == nil)
  }

  @Test func `the active port of a bond, and none`() throws {
    let port = MessageBuilder.raw(Int32(4))
    #expect(try #require(Self.link("bond", (IFLA_BOND_ACTIVE_SLAVE, port))).activePortIndex == 4)
    #expect(try #require(Self.link("bond", (IFLA_BOND_MODE, [1]))).activePortIndex == nil)
    #expect(try #require(Self.link("bond", (IFLA_BOND_ACTIVE_SLAVE, [4]))).activePortIndex == nil)
  }

  @Test(arguments: [(Int32(3), Int32?(3)), (0, nil), (-1, nil)])
  func `the link beneath a VXLAN`(_ index: Int32, _ lower: Int32?) throws {
    #expect(try #require(Self.link("vxlan", (IFLA_VXLAN_LINK, MessageBuilder.raw(index)))).lowerIndex == lower)
  }

  @Test func `a tunnel that is carried in another namespace names nothing of this one`() throws {
    for kind in ["gre", "vxlan"] {
      let type = kind == "gre" ? IFLA_GRE_REMOTE : IFLA_VXLAN_GROUP
      let link = (IFLA_VXLAN_LINK, MessageBuilder.raw(Int32(3)))
      let fact = try #require(Self.link(kind, elsewhere: true, lower: 9, (type, Self.remote4.networkOrder), link))
      #expect(fact.lowerIndex == nil)
      #expect(fact.remote == nil)
      #expect(fact.isCarriedElsewhere)
    }
  }

  @Test func `a kind of any length`() throws {
    for count in [1, 15, 16, 40, 200] {
      let kind = String(repeating: "k", count: count)
      #expect(try #require(Self.link(kind)).kind == kind)
    }
  }

  @Test func `lengths inside may lie, and what stands beside is still read`() throws {
    let name = MessageBuilder.attribute(IFLA_INFO_KIND, Array("vxlan".utf8) + [0])
    for lie in [UInt16(0), 3, 5, 200, .max] {
      let remote = MessageBuilder.raw(lie) + MessageBuilder.raw(UInt16(IFLA_VXLAN_GROUP)) + Self.remote4.networkOrder
      let bytes = MessageBuilder.link(7) {
        $0.attribute(IFLA_LINKINFO, name + MessageBuilder.attribute(IFLA_INFO_DATA, remote))
        $0.attribute(IFLA_IFNAME, text: "vx0")
      }
      let fact = try #require(Decoding.link(bytes))
      #expect((fact.name, fact.kind, fact.remote) == ("vx0", "vxlan", nil))
    }
  }
}
