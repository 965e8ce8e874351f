import CLibNetlink
import NetlinkWire
import Netwatch

/// Decodes generic netlink messages about wireless links, in place and without allocating.
///
/// A message that is too short, or that gives a wrong length, is left out. Every attribute may be missing.
enum WirelessDecoder {
  enum Message: Hashable {
    /// nl80211 is available: a response of the controller, or a notification.
    case family(Family)
    /// nl80211 is gone.
    case familyRemoved
    case wireless(Content)
    case ignored
  }

  /// The numbers of nl80211 in this kernel.
  struct Family: Hashable {
    let id: UInt16
    /// The groups for associations, and for links that appear, disappear or change their mode.
    var associations: Int32?
    var configuration: Int32?
  }

  /// The content of an nl80211 message, as far as netwatch uses it.
  struct Content: Hashable {
    /// NL80211_CMD_*.
    let command: UInt8
    var index: Int32?
    var mode: WirelessLink.Mode?
    var ssid: SSID?
    /// The values about a peer. The address is that of the access point if there is one.
    var connection = WiFiConnection()
    /// The network in a list that the link belongs to.
    var joined: JoinedNetwork?
    /// The IEEE 802.11 status code in the response to an attempt to join; 0 if it succeeded.
    var statusCode: UInt16 = 0
    /// The IEEE 802.11 reason code of the end of a connection; 0 if there is none.
    var reasonCode: UInt16 = 0
    var isEndedByAccessPoint = false
    /// Whether the access point has not answered an attempt to join.
    var hasTimedOut = false

    /// Why the link has left its network, or has not joined one, if that is what the message reports.
    var ending: WiFiEnding? {
      // WLAN_REASON_DISASSOC_DUE_TO_INACTIVITY: mac80211 gives it if beacons are missing.
      let silence: UInt16 = 4
      switch UInt32(command) {
      case NL80211_CMD_DISCONNECT.rawValue:
        if isEndedByAccessPoint { return WiFiEnding(.endedByAccessPoint(reason: Int(reasonCode))) }
        return WiFiEnding(reasonCode == silence ? .lost : .endedByThisMachine(reason: Int(reasonCode)))
      case NL80211_CMD_CONNECT.rawValue, NL80211_CMD_AUTHENTICATE.rawValue, NL80211_CMD_ASSOCIATE.rawValue:
        if hasTimedOut { return WiFiEnding(.unanswered) }
        return statusCode == 0 ? nil : WiFiEnding(.refused(status: Int(statusCode)))
      default: return nil
      }
    }

    /// Whether the message is only about an attempt to join.
    var isAttempt: Bool {
      command == UInt8(NL80211_CMD_AUTHENTICATE.rawValue) || command == UInt8(NL80211_CMD_ASSOCIATE.rawValue)
    }

    /// The access point that the link has joined, if that is what the message reports.
    var joinedAccessPoint: UInt64? {
      switch UInt32(command) {
      case NL80211_CMD_ROAM.rawValue: connection.accessPointAddress
      case NL80211_CMD_CONNECT.rawValue: statusCode == 0 ? connection.accessPointAddress : nil
      default: nil
      }
    }
  }

  /// The values of the network that a link belongs to, from the list of networks.
  struct JoinedNetwork: Hashable {
    /// Nil if the network hides its name.
    var ssid: SSID?
    /// The element that marks the network as metered; nil if there is none.
    var metered: MeteredMark?
  }

  /// struct genlmsghdr: command, version, reserved (2).
  static let genericHeaderLength = 4

  /// Returns a log that prints each message of a socket that only nl80211 uses, if the environment asks for it.
  static func log(_ source: String) -> NetlinkDebugLog? {
    NetlinkDebugLog(source) { "\(message($0, $1, family: $0.type))" }
  }

  /// Decodes a message.
  ///
  /// - Parameter family: The number of nl80211; nil while it is not known.
  static func message(_ frame: NetlinkMessage, _ bytes: RawSpan, family: UInt16?) -> Message {
    let payload = frame.payload
    guard payload.count >= genericHeaderLength else { return .ignored }
    let command = bytes.load(payload.lowerBound, as: UInt8.self)
    let attributes = (payload.lowerBound + genericHeaderLength)..<payload.upperBound
    switch frame.type {
    case UInt16(GENL_ID_CTRL): return controller(command, bytes, attributes)
    case family: return .wireless(content(command, bytes, attributes))
    default: return .ignored
    }
  }

  // MARK: The controller

  private static func controller(_ command: UInt8, _ bytes: RawSpan, _ attributes: Range<Int>) -> Message {
    var isWireless = false
    var id: UInt16?
    var groups = attributes.upperBound..<attributes.upperBound
    bytes.forEachAttribute(in: attributes) { type, value in
      switch type {
      case CTRL_ATTR_FAMILY_NAME: isWireless = bytes.text(value) == NL80211_GENL_NAME
      case CTRL_ATTR_FAMILY_ID: id = bytes.number(value, as: UInt16.self)
      case CTRL_ATTR_MCAST_GROUPS: groups = value
      default: break
      }
    }
    guard isWireless else { return .ignored }
    switch Int(command) {
    case CTRL_CMD_NEWFAMILY: return id.map { .family(family($0, bytes, groups)) } ?? .ignored
    case CTRL_CMD_DELFAMILY: return .familyRemoved
    default: return .ignored
    }
  }

  private static func family(_ id: UInt16, _ bytes: RawSpan, _ groups: Range<Int>) -> Family {
    var family = Family(id: id)
    bytes.forEachAttribute(in: groups) { _, group in
      var name = ""
      var number: Int32?
      bytes.forEachAttribute(in: group) { type, value in
        switch type {
        case CTRL_ATTR_MCAST_GRP_NAME: name = bytes.text(value)
        case CTRL_ATTR_MCAST_GRP_ID: number = bytes.number(value, as: Int32.self)
        default: break
        }
      }
      switch name {
      case NL80211_MULTICAST_GROUP_MLME: family.associations = number
      case NL80211_MULTICAST_GROUP_CONFIG: family.configuration = number
      default: break
      }
    }
    return family
  }

  // MARK: nl80211

  private static func content(_ command: UInt8, _ bytes: RawSpan, _ attributes: Range<Int>) -> Content {
    var content = Content(command: command)
    bytes.forEachAttribute(in: attributes) { type, value in
      switch type {
      case Int(NL80211_ATTR_IFINDEX.rawValue):
        content.index = bytes.number(value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case Int(NL80211_ATTR_IFTYPE.rawValue):
        content.mode = bytes.number(value, as: UInt32.self).map(WirelessLink.Mode.init(interfaceType:))
      case Int(NL80211_ATTR_SSID.rawValue): content.ssid = name(bytes, value)
      case Int(NL80211_ATTR_MAC.rawValue): content.connection.accessPointAddress = hardwareAddress(bytes, value)
      case Int(NL80211_ATTR_STATUS_CODE.rawValue):
        content.statusCode = bytes.number(value, as: UInt16.self) ?? content.statusCode
      case Int(NL80211_ATTR_REASON_CODE.rawValue):
        content.reasonCode = bytes.number(value, as: UInt16.self) ?? content.reasonCode
      case Int(NL80211_ATTR_DISCONNECTED_BY_AP.rawValue): content.isEndedByAccessPoint = true
      case Int(NL80211_ATTR_TIMED_OUT.rawValue): content.hasTimedOut = true
      case Int(NL80211_ATTR_FRAME.rawValue): content.statusCode = refusal(bytes, value) ?? content.statusCode
      case Int(NL80211_ATTR_WIPHY_FREQ.rawValue):
        content.connection.frequency = bytes.number(value, as: UInt32.self).map { Int($0) }
      case Int(NL80211_ATTR_STA_INFO.rawValue): read(station: value, of: bytes, into: &content.connection)
      case Int(NL80211_ATTR_BSS.rawValue): content.joined = joinedNetwork(bytes, value)
      default: break
      }
    }
    return content
  }

  /// Returns the status code of a frame that refuses an authentication or an association (IEEE 802.11, sections 9.3.3.7 and 9.3.3.11).
  /// Nil for other frames, and for one that does not refuse.
  private static func refusal(_ bytes: RawSpan, _ frame: Range<Int>) -> UInt16? {
    let headerLength = 24
    // The status follows the algorithm and the sequence number of an authentication, and the capabilities of an association.
    let place: Int
    switch bytes.number(frame, as: UInt8.self) {
    case 0xb0: place = headerLength + 4
    case 0x10, 0x30: place = headerLength + 2
    default: return nil
    }
    guard frame.count >= place + 2 else { return nil }
    let start = frame.lowerBound + place
    let status = bytes.number(start..<start + 2, as: UInt16.self).map(UInt16.init(littleEndian:))
    // SAE goes on: a token is wanted, or an element is computed directly.
    return status.flatMap { [0, 76, 126, 127].contains($0) ? nil : $0 }
  }

  /// Reads a network's name. Nil if the network hides its name.
  private static func name(_ bytes: RawSpan, _ range: Range<Int>) -> SSID? {
    SSID(bytes.extracting(range)).flatMap { $0.isHidden ? nil : $0 }
  }

  private static func hardwareAddress(_ bytes: RawSpan, _ range: Range<Int>) -> UInt64? {
    guard range.count == 6 else { return nil }
    return range.reduce(0) { $0 << 8 | UInt64(bytes.load($1, as: UInt8.self)) }
  }

  private static func read(station: Range<Int>, of bytes: RawSpan, into connection: inout WiFiConnection) {
    bytes.forEachAttribute(in: station) { type, value in
      switch type {
      case Int(NL80211_STA_INFO_SIGNAL.rawValue):
        connection.signal = bytes.number(value, as: Int8.self).map { WiFiSignal(dBm: Int($0)) }
      case Int(NL80211_STA_INFO_RX_BITRATE.rawValue): connection.receiveRate = rate(bytes, value)
      case Int(NL80211_STA_INFO_TX_BITRATE.rawValue): connection.transmitRate = rate(bytes, value)
      default: break
      }
    }
  }

  /// Reads a rate in kilobits per second; the kernel has steps of 100. Rates above 6.5 Gb/s are only in the longer number.
  /// Before the first data of a connection there is no rate.
  private static func rate(_ bytes: RawSpan, _ info: Range<Int>) -> Int? {
    let long = bytes.attribute(Int(NL80211_RATE_INFO_BITRATE32.rawValue), in: info)
    let short = bytes.attribute(Int(NL80211_RATE_INFO_BITRATE.rawValue), in: info)
    let rate =
      long.flatMap { bytes.number($0, as: UInt32.self) }
      ?? short.flatMap { bytes.number($0, as: UInt16.self) }
      .map { UInt32($0) }
    return rate.flatMap { $0 > 0 ? Int($0) * 100 : nil }
  }

  /// Reads a network if the link belongs to it. A network that hides its name sends it in the response to a probe for it, but
  /// not in its beacons.
  private static func joinedNetwork(_ bytes: RawSpan, _ network: Range<Int>) -> JoinedNetwork? {
    var isJoined = false
    var joined = JoinedNetwork()
    bytes.forEachAttribute(in: network) { type, value in
      switch type {
      case Int(NL80211_BSS_STATUS.rawValue):
        switch bytes.number(value, as: UInt32.self) {
        case NL80211_BSS_STATUS_ASSOCIATED.rawValue, NL80211_BSS_STATUS_IBSS_JOINED.rawValue: isJoined = true
        default: break
        }
      case Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue):
        joined.ssid = InformationElements.name(in: bytes, value).flatMap { name(bytes, $0) }
        joined.metered = InformationElements.meteredMark(in: bytes, value) ?? joined.metered
      case Int(NL80211_BSS_BEACON_IES.rawValue):
        joined.metered = joined.metered ?? InformationElements.meteredMark(in: bytes, value)
      default: break
      }
    }
    return isJoined ? joined : nil
  }
}

extension WirelessDecoder.Message: CustomStringConvertible {
  var description: String {
    switch self {
    case .family(let family): "nl80211 is family \(family.id)"
    case .familyRemoved: "nl80211 has gone"
    case .wireless(let content):
      "nl80211 command \(content.command) link \(content.index ?? 0)"
        + (content.mode.map { " \($0)" } ?? "") + (content.ssid.map { " ssid \($0.hex)" } ?? "")
        + (content.connection.signal.map { " signal \($0.dBm)" } ?? "")
        + (content.connection.accessPoint.map { " of \($0)" } ?? "")
        + (content.joined.map { " joined \($0.ssid?.hex ?? "")" + ($0.metered.map { " metered: \($0)" } ?? "") } ?? "")
    case .ignored: "ignored"
    }
  }
}
