import CLibNetlink
import Glibc
import Netwatch

/// Questions to the kernel's nl80211, over a socket of their own.
///
/// Where the kernel has no nl80211, there are no wireless links: every answer is nil, and costs nothing. While the kernel
/// leaves a network, a question waits for it to finish, which can take some tens of milliseconds.
final class WirelessQueries {
  private let conversation: NetlinkConversation
  private var family: UInt16?
  private var familyList: NetlinkRequest
  private var interface: NetlinkRequest
  private var stationList: NetlinkRequest
  private var networkList: NetlinkRequest
  /// How often to read the list of networks while scans rewrite it.
  private static let attempts = 3

  /// Opens the socket, and looks for nl80211.
  init(of input: NetlinkInput = .kernel) throws(NetlinkError) {
    conversation = try NetlinkConversation(
      .wirelessReply, of: input, protocol: NETLINK_GENERIC, log: WirelessDecoder.log("reply"))
    familyList = try .listFamilies()
    interface = try .wireless(NL80211_CMD_GET_INTERFACE, isListing: false)
    stationList = try .wireless(NL80211_CMD_GET_STATION, isListing: true)
    networkList = try .wireless(NL80211_CMD_GET_SCAN, isListing: true)
    try findFamily()
  }

  /// The kernel has nl80211.
  var isAvailable: Bool { family != nil }

  /// Looks for nl80211 again: cfg80211 may be loaded or unloaded at any time.
  @discardableResult func findFamily() throws(NetlinkError) -> WirelessDecoder.Family? {
    family = nil
    var found: WirelessDecoder.Family?
    _ = try ask(&familyList) { message in
      if case .family(let family) = message { found = family }
    }
    guard let found else { return nil }
    interface.setFamily(found.id)
    stationList.setFamily(found.id)
    networkList.setFamily(found.id)
    family = found.id
    return found
  }

  /// Nil where nl80211 does not know the link: it is of another kind, or it has gone.
  func link(_ index: Int32) throws(NetlinkError) -> WirelessLink? {
    guard isAvailable else { return nil }
    interface.setWirelessLink(index)
    var link: WirelessLink?
    let reply = try ask(&interface) { message in
      guard case .wireless(let content) = message, content.index == index, let mode = content.mode else { return }
      link = WirelessLink(mode: mode, ssid: content.ssid)
    }
    // Nobody has this number any more.
    if reply.error == ENOENT { family = nil }
    guard let link else { return nil }
    guard link.isStation else { return link }
    let joined = try joinedNetwork(index)
    return WirelessLink(mode: link.mode, ssid: link.ssid ?? joined?.ssid, metered: joined?.metered)
  }

  /// The connection to the access point, or to the first peer that the driver tells the signal of. Nil while there is none.
  ///
  /// - Parameter hasFrequency: whether the frequency is asked for, too.
  func connection(_ index: Int32, hasFrequency: Bool) throws(NetlinkError) -> WiFiConnection? {
    guard isAvailable else { return nil }
    stationList.setWirelessLink(index)
    var connection: WiFiConnection?
    _ = try ask(&stationList) { message in
      guard case .wireless(let content) = message, connection?.signal == nil else { return }
      connection = content.connection
    }
    guard hasFrequency, connection != nil else { return connection }
    interface.setWirelessLink(index)
    _ = try ask(&interface) { message in
      guard case .wireless(let content) = message, content.index == index else { return }
      connection?.frequency = content.connection.frequency
    }
    return connection
  }

  /// The network as the list of networks has it: its name, and whether it is metered.
  ///
  /// Where wpa_supplicant associates, which is nearly everywhere, the kernel tells the name with the link only if the access
  /// point names its country.
  private func joinedNetwork(_ index: Int32) throws(NetlinkError) -> WirelessDecoder.JoinedNetwork? {
    var joined: WirelessDecoder.JoinedNetwork?
    networkList.setWirelessLink(index)
    for _ in 0..<Self.attempts {
      let reply = try ask(&networkList) { message in
        if case .wireless(let content) = message { joined = joined ?? content.joined }
      }
      if joined != nil || reply.isWhole { break }
    }
    return joined
  }

  private func ask(
    _ request: inout NetlinkRequest, _ body: (WirelessDecoder.Message) -> Void
  ) throws(NetlinkError) -> NetlinkConversation.Reply {
    try conversation.ask(&request) { frame, bytes in
      body(WirelessDecoder.message(frame, bytes, family: family))
    }
  }
}
