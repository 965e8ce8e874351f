import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Requests to the kernel's nl80211, over their own socket.
///
/// If the kernel does not have nl80211, there are no wireless links: every response is nil, and costs nothing. While the kernel
/// leaves a network, a request waits until that is done, which can take some tens of milliseconds.
final class WirelessQueries {
  private let conversation: NetlinkRequestSocket
  private var family: UInt16?
  private var familyList: NetlinkRequest
  private var interface: NetlinkRequest
  private var stationList: NetlinkRequest
  private var networkList: NetlinkRequest
  /// The most attempts to read the list of networks while scans rewrite it.
  private static let attempts = 3

  /// Opens the socket and looks for nl80211.
  init(of input: KernelInterface = .kernel) throws(SystemError) {
    conversation = try NetlinkRequestSocket(
      .wirelessReply, of: input.transport, protocol: NETLINK_GENERIC, log: WirelessDecoder.log("reply"))
    familyList = try .listFamilies()
    interface = try .wireless(NL80211_CMD_GET_INTERFACE, isListing: false)
    stationList = try .wireless(NL80211_CMD_GET_STATION, isListing: true)
    networkList = try .wireless(NL80211_CMD_GET_SCAN, isListing: true)
    try findFamily()
  }

  /// Whether the kernel has nl80211.
  var isAvailable: Bool { family != nil }

  /// Looks for nl80211 again, because cfg80211 may be loaded or unloaded at any time.
  @discardableResult func findFamily() throws(SystemError) -> WirelessDecoder.Family? {
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

  /// Returns the state of a link. Nil if nl80211 does not know the link, because it is of another kind or gone.
  func link(_ index: Int32) throws(SystemError) -> WirelessLink? {
    guard isAvailable else { return nil }
    interface.setWirelessLink(index)
    var link: WirelessLink?
    let reply = try ask(&interface) { message in
      guard case .wireless(let content) = message, content.index == index, let mode = content.mode else { return }
      link = WirelessLink(mode: mode, ssid: content.ssid)
    }
    // No family has this number any more.
    if reply.error == ENOENT { family = nil }
    guard let link else { return nil }
    guard link.isStation else { return link }
    let joined = try joinedNetwork(index)
    return WirelessLink(mode: link.mode, ssid: link.ssid ?? joined?.ssid, metered: joined?.metered)
  }

  /// Returns the connection to the access point, or to the first peer whose signal the driver reports. Nil while there is none.
  ///
  /// - Parameter hasFrequency: Whether to request the frequency also.
  func connection(_ index: Int32, hasFrequency: Bool) throws(SystemError) -> WiFiConnection? {
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

  /// Returns the data of the link's network in the list of networks: the name, and whether it is metered.
  ///
  /// If wpa_supplicant associates the link, which is the usual case, the kernel reports the name with the link only if the
  /// access point names its country.
  private func joinedNetwork(_ index: Int32) throws(SystemError) -> WirelessDecoder.JoinedNetwork? {
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
  ) throws(SystemError) -> NetlinkRequestSocket.Reply {
    try conversation.ask(&request) { frame, bytes in
      body(WirelessDecoder.message(frame, bytes, family: family))
    }
  }
}
