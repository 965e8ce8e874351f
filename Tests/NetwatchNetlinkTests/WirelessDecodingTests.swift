import CLibNetlink
import Glibc
import Netwatch
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

@Suite struct WirelessDecodingTests {
  // MARK: The family

  @Test func `the controller tells the numbers of nl80211 and of its groups`() {
    #expect(Wireless.messages(WirelessCorpus.familyListed, family: nil) == [.family(Wireless.family)])
    #expect(Wireless.messages(WirelessCorpus.otherFamilyListed, family: nil) == [.ignored])
  }

  @Test func `a family that goes is told as it was`() {
    var bytes = WirelessCorpus.familyListed
    bytes[Wireless.commandOffset] = UInt8(CTRL_CMD_DELFAMILY)
    #expect(Wireless.messages(bytes) == [.familyRemoved])
    bytes[Wireless.commandOffset] = UInt8(CTRL_CMD_NEWMCAST_GRP)
    #expect(Wireless.messages(bytes) == [.ignored])
  }

  @Test func `a family needs a name and a number, and may lack groups`() {
    let name = { (message: inout MessageBuilder) in message.attribute(CTRL_ATTR_FAMILY_NAME, text: "nl80211") }
    let number = { (message: inout MessageBuilder) in message.attribute(CTRL_ATTR_FAMILY_ID, number: UInt16(40)) }
    let bare = WirelessDecoder.Family(id: 40)
    #expect(Wireless.messages(MessageBuilder.controller([name, number])) == [.family(bare)])
    #expect(Wireless.messages(MessageBuilder.controller([number, name])) == [.family(bare)])
    #expect(Wireless.messages(MessageBuilder.controller([name])) == [.ignored])
    #expect(Wireless.messages(MessageBuilder.controller([number])) == [.ignored])
    #expect(Wireless.messages(MessageBuilder.controller([])) == [.ignored])
  }

  @Test func `messages of a family that is not known, or of another one, are left alone`() {
    for family in [nil, 31, 33] as [UInt16?] {
      #expect(Wireless.messages(WirelessCorpus.stationWithName, family: family) == [.ignored])
    }
  }

  // MARK: Links

  @Test(arguments: [
    (WirelessCorpus.stationIdle, WirelessLink.Mode.station, nil), (WirelessCorpus.stationWithoutName, .station, nil),
    (WirelessCorpus.stationWithName, .station, "feas-net"), (WirelessCorpus.adHoc, .adHoc, "ad-hoc-net"),
    (WirelessCorpus.monitor, .monitor, nil), (WirelessCorpus.mesh, .mesh, nil),
  ])
  func `a link says what it is and where it belongs`(
    _ bytes: [UInt8], _ mode: WirelessLink.Mode, _ name: String?
  ) throws {
    let content = try #require(Wireless.content(bytes))
    #expect((content.index, content.mode, content.ssid?.text) == (2, mode, name))
  }

  @Test func `an access point is told by its link`() throws {
    let content = try #require(Wireless.content(WirelessCorpus.accessPoint))
    #expect((content.index, content.mode, content.ssid?.text) == (7, .accessPoint, "feas-net"))
  }

  @Test(arguments: [
    (NL80211_IFTYPE_STATION, WirelessLink.Mode.station, true), (NL80211_IFTYPE_P2P_CLIENT, .p2pClient, true),
    (NL80211_IFTYPE_ADHOC, .adHoc, true), (NL80211_IFTYPE_MESH_POINT, .mesh, true),
    (NL80211_IFTYPE_AP, .accessPoint, false), (NL80211_IFTYPE_AP_VLAN, .accessPoint, false),
    (NL80211_IFTYPE_P2P_GO, .accessPoint, false), (NL80211_IFTYPE_MONITOR, .monitor, false),
    (NL80211_IFTYPE_UNSPECIFIED, .other, false), (NL80211_IFTYPE_WDS, .other, false),
    (NL80211_IFTYPE_P2P_DEVICE, .other, false), (NL80211_IFTYPE_OCB, .other, false),
    (NL80211_IFTYPE_NAN, .other, false),
    (nl80211_iftype(rawValue: .max), .other, false),
  ])
  func `the kernel's types are modes`(_ type: nl80211_iftype, _ mode: WirelessLink.Mode, _ isMediumWiFi: Bool) {
    #expect(WirelessLink.Mode(interfaceType: type.rawValue) == mode)
    #expect(WirelessLink(mode: mode).isMediumWiFi == isMediumWiFi)
  }

  @Test func `what is missing is nil, and so is a name that is hidden or too long`() throws {
    for (bytes, count) in [([], 0), ([0], 0), ([0, 0, 0], 0), ([0x61], 1)] as [([UInt8], Int)] {
      let message = MessageBuilder.wireless(NL80211_CMD_NEW_INTERFACE) {
        $0.attribute(Int(NL80211_ATTR_SSID.rawValue), bytes)
      }
      let content = try #require(Wireless.content(message))
      #expect((content.index, content.mode, content.ssid?.count ?? 0) == (nil, nil, count))
    }
    let long = MessageBuilder.wireless(NL80211_CMD_NEW_INTERFACE) {
      $0.attribute(Int(NL80211_ATTR_SSID.rawValue), [UInt8](repeating: 0x61, count: 33))
      $0.attribute(Int(NL80211_ATTR_IFTYPE.rawValue), [2, 0])
      $0.attribute(Int(NL80211_ATTR_IFINDEX.rawValue), number: Int32(-1))
    }
    #expect(Wireless.content(long) == Wireless.content(MessageBuilder.wireless(NL80211_CMD_NEW_INTERFACE)))
  }

  @Test func `refusals and ends are told apart`() {
    #expect(Decoding.kinds(WirelessCorpus.unknownLink) == [.error(code: ENODEV)])
    #expect(Decoding.kinds(WirelessCorpus.listingRefused) == [.error(code: ENODEV)])
    #expect(Decoding.kinds(WirelessCorpus.listingDone) == [.done])
    #expect(Decoding.kinds(MessageBuilder(type: Int(NLMSG_OVERRUN)).bytes) == [.overrun])
    #expect(Wireless.messages(MessageBuilder(type: Int(NLMSG_ERROR)).bytes) == [.ignored])
    var error = MessageBuilder(type: Int(NLMSG_ERROR))
    error.append(MessageBuilder.raw(Int32.min))
    #expect(Decoding.kinds(error.bytes) == [.error(code: .max)])
  }

  // MARK: Signals and networks

  @Test func `a peer has a signal, in dBm`() {
    #expect(Wireless.content(WirelessCorpus.peer)?.connection.signal == WiFiSignal(dBm: -30))
    #expect(Wireless.content(WirelessCorpus.peerAdded)?.connection.signal == nil)
  }

  @Test func `a peer has rates and an address`() throws {
    let connection = try #require(Wireless.content(WirelessCorpus.peer)?.connection)
    #expect(connection.accessPoint == "02:00:00:00:01:00")
    #expect((connection.receiveRate, connection.transmitRate) == (1_000, 54_000))
    // The rates are those of a message with 32 bits, of an older kernel, of a message without a rate, and of a station
    // before any data. The last two have a wrong length and the highest value.
    for (info, rate) in [
      (
        Self.rate(NL80211_RATE_INFO_BITRATE32, UInt32(86_460)) + Self.rate(NL80211_RATE_INFO_BITRATE, UInt16(0)),
        8_646_000
      ),
      (Self.rate(NL80211_RATE_INFO_BITRATE, UInt16(4_333)), 433_300), ([], nil),
      (Self.rate(NL80211_RATE_INFO_BITRATE32, UInt32(0)), nil),
      (Self.rate(NL80211_RATE_INFO_BITRATE32, UInt16(9)), nil),
      (Self.rate(NL80211_RATE_INFO_BITRATE32, UInt32.max), 429_496_729_500),
    ] as [([UInt8], Int?)] {
      let message = MessageBuilder.wireless(NL80211_CMD_NEW_STATION) {
        $0.attribute(
          Int(NL80211_ATTR_STA_INFO.rawValue), MessageBuilder.attribute(Int(NL80211_STA_INFO_RX_BITRATE.rawValue), info)
        )
      }
      #expect(Wireless.content(message)?.connection.receiveRate == rate)
    }
  }

  private static func rate(_ type: nl80211_rate_info, _ value: some FixedWidthInteger) -> [UInt8] {
    MessageBuilder.attribute(Int(type.rawValue), MessageBuilder.raw(value))
  }

  @Test func `a link says its frequency, of which the band follows`() {
    #expect(Wireless.content(WirelessCorpus.stationWithName)?.connection.frequency == 2412)
    for (frequency, band) in [
      (2412, "2.4 GHz"), (2484, "2.4 GHz"), (5180, "5 GHz"), (5885, "5 GHz"), (5955, "6 GHz"), (7115, "6 GHz"),
      (58_320, "60 GHz"), (904, "0.9 GHz"), (3_650, nil), (0, nil),
    ] as [(UInt32, String?)] {
      let message = MessageBuilder.wireless(NL80211_CMD_NEW_INTERFACE) {
        $0.attribute(Int(NL80211_ATTR_WIPHY_FREQ.rawValue), number: frequency)
      }
      #expect(Wireless.content(message)?.connection.band?.rawValue == band)
    }
  }

  @Test func `to be let in, or to roam, is to join an access point`() {
    let address: [UInt8] = [2, 0, 0, 0, 1, 0]
    func content(_ command: nl80211_commands, _ status: UInt16?, _ address: [UInt8]) -> WirelessDecoder.Content? {
      Wireless.content(
        MessageBuilder.wireless(command, link: 3) {
          $0.attribute(Int(NL80211_ATTR_MAC.rawValue), address)
          if let status { $0.attribute(Int(NL80211_ATTR_STATUS_CODE.rawValue), MessageBuilder.raw(status)) }
        })
    }
    #expect(content(NL80211_CMD_CONNECT, 0, address)?.joinedAccessPoint == 0x0200_0000_0100)
    #expect(content(NL80211_CMD_ROAM, nil, address)?.joinedAccessPoint == 0x0200_0000_0100)
    #expect(content(NL80211_CMD_CONNECT, 17, address)?.joinedAccessPoint == nil)
    #expect(content(NL80211_CMD_DISCONNECT, nil, address)?.joinedAccessPoint == nil)
    #expect(content(NL80211_CMD_ROAM, nil, Array(address.dropLast()))?.joinedAccessPoint == nil)
    #expect(Wireless.content(WirelessCorpus.connected)?.joinedAccessPoint != nil)
  }

  @Test func `of a list of networks the one that is joined has a name`() {
    #expect(Wireless.content(WirelessCorpus.networkJoined)?.joined?.ssid?.text == "feas-net")
    #expect(Wireless.content(WirelessCorpus.networkNotJoined)?.joined == nil)
    #expect(Wireless.content(WirelessCorpus.hiddenNetworkJoined)?.joined?.ssid?.text == "hidden-net")
    let strange = Wireless.content(WirelessCorpus.strangeNetworkJoined)?.joined?.ssid
    #expect(strange?.bytes == [UInt8](repeating: 0xff, count: 32))
  }

  @Test(arguments: [
    ([0, 1, 0x61], "a"), ([1, 2, 9, 9, 0, 1, 0x61], "a"), ([0, 1, 0x61, 0, 1, 0x62], "a"), ([1, 0, 0, 1, 0x61], "a"),
    ([], nil), ([0], nil), ([0, 0], nil), ([0, 2, 0x61], nil), ([0, 255], nil), ([1, 3, 0, 1, 0x61, 0], nil),
    ([1, 2, 0, 1, 0x61], nil), ([0, 33] + [UInt8](repeating: 0x61, count: 33), nil), ([0, 2, 0, 0], nil),
  ])
  func `elements are walked by their own lengths`(_ elements: [UInt8], _ name: String?) {
    for status in [NL80211_BSS_STATUS_ASSOCIATED, NL80211_BSS_STATUS_IBSS_JOINED] {
      #expect(Wireless.content(MessageBuilder.network(status, elements))?.joined?.ssid?.text == name)
    }
    #expect(Wireless.content(MessageBuilder.network(NL80211_BSS_STATUS_AUTHENTICATED, elements))?.joined == nil)
  }

  // MARK: Events

  @Test(arguments: [
    (WirelessCorpus.connected, NL80211_CMD_CONNECT), (WirelessCorpus.disconnected, NL80211_CMD_DISCONNECT),
    (WirelessCorpus.deauthenticated, NL80211_CMD_DEAUTHENTICATE), (WirelessCorpus.joinedAdHoc, NL80211_CMD_JOIN_IBSS),
    (WirelessCorpus.interfaceChanged, NL80211_CMD_SET_INTERFACE),
    (WirelessCorpus.interfaceRemoved, NL80211_CMD_DEL_INTERFACE),
    (WirelessCorpus.authenticated, NL80211_CMD_AUTHENTICATE), (WirelessCorpus.associated, NL80211_CMD_ASSOCIATE),
    (MessageBuilder.wireless(NL80211_CMD_ROAM, link: 2), NL80211_CMD_ROAM),
    (MessageBuilder.wireless(NL80211_CMD_DISASSOCIATE, link: 2), NL80211_CMD_DISASSOCIATE),
  ])
  func `an event names its link, and wakes us`(_ bytes: [UInt8], _ command: nl80211_commands) throws {
    let content = try #require(Wireless.content(bytes))
    #expect((UInt32(content.command), content.index) == (command.rawValue, 2))
    #expect(Wireless.filter.run(bytes) == .max)
  }

  @Test func `news of families, and of links that are none, come through`() {
    #expect(Wireless.filter.run(WirelessCorpus.familyListed) == .max)
    #expect(Wireless.filter.run(WirelessCorpus.interfaceAdded) == .max)
    #expect(Wireless.filter.run(WirelessCorpus.p2pDeviceAdded) == .max)
    #expect(Wireless.content(WirelessCorpus.p2pDeviceAdded)?.index == nil)
  }

  @Test(arguments: [
    WirelessCorpus.peerAdded, WirelessCorpus.peer,
    MessageBuilder.wireless(NL80211_CMD_NEW_SCAN_RESULTS, link: 2), MessageBuilder.wireless(NL80211_CMD_FRAME, link: 2),
    MessageBuilder.wireless(NL80211_CMD_NOTIFY_CQM, link: 2), MessageBuilder(type: 32).bytes, [],
  ])
  func `the filter drops messages that cannot matter`(_ bytes: [UInt8]) {
    #expect(Wireless.filter.run(bytes) == 0)
  }

  // MARK: The end of a connection

  private static func message(_ command: nl80211_commands, _ fill: (inout MessageBuilder) -> Void) -> [UInt8] {
    var message = MessageBuilder(type: Int(WirelessCorpus.family))
    message.append([UInt8(command.rawValue), 1, 0, 0])
    message.attribute(Int(NL80211_ATTR_IFINDEX.rawValue), number: UInt32(2))
    fill(&message)
    return message.bytes
  }

  /// A message about the end of a connection.
  private static func end(_ reason: UInt16?, byAccessPoint: Bool) -> [UInt8] {
    message(NL80211_CMD_DISCONNECT) {
      if let reason { $0.attribute(Int(NL80211_ATTR_REASON_CODE.rawValue), number: reason) }
      if byAccessPoint { $0.attribute(Int(NL80211_ATTR_DISCONNECTED_BY_AP.rawValue), []) }
    }
  }

  /// A message with a frame of an access point, whose body follows 24 bytes of header.
  private static func frame(_ command: nl80211_commands, _ type: UInt8, _ body: [UInt8]) -> [UInt8] {
    message(command) {
      $0.attribute(Int(NL80211_ATTR_FRAME.rawValue), [type] + [UInt8](repeating: 0, count: 23) + body)
    }
  }

  @Test(arguments: [
    (WirelessCorpus.disconnected, WiFiEnding.Kind.endedByAccessPoint(reason: 2)),
    (end(15, byAccessPoint: true), .endedByAccessPoint(reason: 15)),
    (end(nil, byAccessPoint: true), .endedByAccessPoint(reason: 0)),
    // An access point may say that this station was silent; without its frame, it was the one that was silent.
    (end(4, byAccessPoint: true), .endedByAccessPoint(reason: 4)), (end(4, byAccessPoint: false), .lost),
    (end(3, byAccessPoint: false), .endedByThisMachine(reason: 3)),
    (end(nil, byAccessPoint: false), .endedByThisMachine(reason: 0)),
    (frame(NL80211_CMD_AUTHENTICATE, 0xb0, [3, 0, 2, 0, 15, 0]), .refused(status: 15)),
    (frame(NL80211_CMD_ASSOCIATE, 0x10, [0x11, 4, 17, 0, 0, 0]), .refused(status: 17)),
    (frame(NL80211_CMD_ASSOCIATE, 0x30, [0x11, 4, 30, 0, 0, 0]), .refused(status: 30)),
    (
      message(NL80211_CMD_CONNECT) { $0.attribute(Int(NL80211_ATTR_STATUS_CODE.rawValue), number: UInt16(1)) },
      .refused(status: 1)
    ),
    (message(NL80211_CMD_AUTHENTICATE) { $0.attribute(Int(NL80211_ATTR_TIMED_OUT.rawValue), []) }, .unanswered),
  ])
  func `why a network was left or not joined`(_ bytes: [UInt8], _ kind: WiFiEnding.Kind) {
    #expect(Wireless.content(bytes)?.ending == WiFiEnding(kind))
  }

  @Test(arguments: [
    WirelessCorpus.connected, WirelessCorpus.authenticated, WirelessCorpus.associated, WirelessCorpus.deauthenticated,
    // SAE goes on after these: a token is wanted, and an element was computed directly.
    frame(NL80211_CMD_AUTHENTICATE, 0xb0, [3, 0, 1, 0, 76, 0]),
    frame(NL80211_CMD_AUTHENTICATE, 0xb0, [3, 0, 1, 0, 126, 0]),
    // A frame that is cut off, and one of another kind.
    frame(NL80211_CMD_AUTHENTICATE, 0xb0, [3, 0, 2, 0, 15]),
    frame(NL80211_CMD_AUTHENTICATE, 0xc0, [3, 0, 2, 0, 15, 0]),
  ])
  func `what is no end, and no refusal`(_ bytes: [UInt8]) { #expect(Wireless.content(bytes)?.ending == nil) }
}
