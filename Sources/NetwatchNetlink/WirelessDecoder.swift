import CLibNetlink
import CLibNetlinkGeneric
import Netwatch

/// Turns generic netlink's bytes into what the kernel says of wireless links, in place and without allocating.
///
/// A message that is too short, or that lies about a length, is left out. Every attribute may be missing.
package enum WirelessDecoder {
  package enum Message: Hashable, Sendable {
    /// nl80211 is there: an answer of the controller, or news.
    case family(Family)
    /// nl80211 has gone.
    case familyRemoved
    case wireless(Content)
    /// The end of a listing.
    case done
    /// A refusal, or with code 0 an acknowledgement.
    case error(code: Int32)
    /// Messages were dropped inside this socket (NLMSG_OVERRUN).
    case overrun
    case ignored
  }

  /// The numbers that nl80211 has got in this kernel.
  package struct Family: Hashable, Sendable {
    package let id: UInt16
    /// The groups that tell of associations, and of links that come, go and change their type.
    package var associations: Int32?
    package var configuration: Int32?
  }

  /// What is of interest in a message of nl80211.
  package struct Content: Hashable, Sendable {
    /// NL80211_CMD_*.
    package let command: UInt8
    package var index: Int32?
    package var mode: WirelessLink.Mode?
    package var ssid: SSID?
    /// Of a peer, in dBm.
    package var signal: Int8?
    /// The name of the network in a list that the link belongs to.
    package var joinedSSID: SSID?
  }

  /// struct genlmsghdr: command, version, reserved (2).
  private static let genericHeaderLength = 4

  /// Calls `body` with each message of a datagram, in order.
  ///
  /// - Parameter family: the number of nl80211; nil while it is not known.
  package static func decode(
    _ bytes: RawSpan, family: UInt16?, _ body: (NetlinkDecoder.Header, Message, Range<Int>) -> Void
  ) {
    NetlinkFrames.forEach(in: bytes) { header, payload, record in
      body(header, message(header.type, bytes, payload, family), record)
    }
  }

  private static func message(
    _ type: UInt16, _ bytes: RawSpan, _ payload: Range<Int>, _ family: UInt16?
  ) -> Message {
    switch CInt(type) {
    case NLMSG_ERROR: return error(bytes, payload)
    // A listing can also end with an error, in the place of the length.
    case NLMSG_DONE: return bytes.number(payload, as: Int32.self) ?? 0 < 0 ? error(bytes, payload) : .done
    case NLMSG_OVERRUN: return .overrun
    default: break
    }
    guard payload.count >= genericHeaderLength else { return .ignored }
    let command = bytes.load(payload.lowerBound, as: UInt8.self)
    let attributes = (payload.lowerBound + genericHeaderLength)..<payload.upperBound
    switch type {
    case UInt16(GENL_ID_CTRL): return controller(command, bytes, attributes)
    case family: return .wireless(content(command, bytes, attributes))
    default: return .ignored
    }
  }

  private static func error(_ bytes: RawSpan, _ payload: Range<Int>) -> Message {
    NetlinkFrames.errorCode(bytes, payload).map { .error(code: $0) } ?? .ignored
  }

  // MARK: The controller

  private static func controller(_ command: UInt8, _ bytes: RawSpan, _ attributes: Range<Int>) -> Message {
    var isWireless = false
    var id: UInt16?
    var groups = attributes.upperBound..<attributes.upperBound
    var cursor = NetlinkCursor(attributes)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case CTRL_ATTR_FAMILY_NAME: isWireless = bytes.text(attribute.value) == NL80211_GENL_NAME
      case CTRL_ATTR_FAMILY_ID: id = bytes.number(attribute.value, as: UInt16.self)
      case CTRL_ATTR_MCAST_GROUPS: groups = attribute.value
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
    var cursor = NetlinkCursor(groups)
    while let group = cursor.nextAttribute(in: bytes) {
      var name = ""
      var number: Int32?
      var attributes = NetlinkCursor(group.value)
      while let attribute = attributes.nextAttribute(in: bytes) {
        switch attribute.type {
        case CTRL_ATTR_MCAST_GRP_NAME: name = bytes.text(attribute.value)
        case CTRL_ATTR_MCAST_GRP_ID: number = bytes.number(attribute.value, as: Int32.self)
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
    var cursor = NetlinkCursor(attributes)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case Int(NL80211_ATTR_IFINDEX.rawValue):
        content.index = bytes.number(attribute.value, as: Int32.self).flatMap { $0 > 0 ? $0 : nil }
      case Int(NL80211_ATTR_IFTYPE.rawValue):
        content.mode = bytes.number(attribute.value, as: UInt32.self).map(WirelessLink.Mode.init(interfaceType:))
      case Int(NL80211_ATTR_SSID.rawValue): content.ssid = name(bytes, attribute.value)
      case Int(NL80211_ATTR_STA_INFO.rawValue): content.signal = signal(bytes, attribute.value)
      case Int(NL80211_ATTR_BSS.rawValue): content.joinedSSID = joinedSSID(bytes, attribute.value)
      default: break
      }
    }
    return content
  }

  /// A network that hides its name has none.
  private static func name(_ bytes: RawSpan, _ range: Range<Int>) -> SSID? {
    SSID(bytes.extracting(range)).flatMap { $0.isHidden ? nil : $0 }
  }

  private static func signal(_ bytes: RawSpan, _ station: Range<Int>) -> Int8? {
    var cursor = NetlinkCursor(station)
    while let attribute = cursor.nextAttribute(in: bytes) {
      if attribute.type == Int(NL80211_STA_INFO_SIGNAL.rawValue) { return bytes.number(attribute.value, as: Int8.self) }
    }
    return nil
  }

  private static func joinedSSID(_ bytes: RawSpan, _ network: Range<Int>) -> SSID? {
    var isJoined = false
    var ssid: SSID?
    var cursor = NetlinkCursor(network)
    while let attribute = cursor.nextAttribute(in: bytes) {
      switch attribute.type {
      case Int(NL80211_BSS_STATUS.rawValue):
        switch bytes.number(attribute.value, as: UInt32.self) {
        case NL80211_BSS_STATUS_ASSOCIATED.rawValue, NL80211_BSS_STATUS_IBSS_JOINED.rawValue: isJoined = true
        default: break
        }
      case Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue): ssid = ssidElement(bytes, attribute.value)
      default: break
      }
    }
    return isJoined ? ssid : nil
  }

  /// Elements of IEEE 802.11, as they came over the air: a byte of kind, a byte of length, the content. The name is kind 0.
  private static func ssidElement(_ bytes: RawSpan, _ elements: Range<Int>) -> SSID? {
    var offset = elements.lowerBound
    while elements.upperBound - offset >= 2 {
      let value = offset + 2
      let end = value + Int(bytes.load(offset + 1, as: UInt8.self))
      guard end <= elements.upperBound else { return nil }
      if bytes.load(offset, as: UInt8.self) == 0 { return name(bytes, value..<end) }
      offset = end
    }
    return nil
  }
}

extension WirelessDecoder.Message: CustomStringConvertible {
  package var description: String {
    switch self {
    case .family(let family): "nl80211 is family \(family.id)"
    case .familyRemoved: "nl80211 has gone"
    case .wireless(let content):
      "nl80211 command \(content.command) link \(content.index ?? 0)"
        + (content.mode.map { " \($0)" } ?? "") + (content.ssid.map { " ssid \($0.hex)" } ?? "")
        + (content.signal.map { " signal \($0)" } ?? "") + (content.joinedSSID.map { " joined \($0.hex)" } ?? "")
    case .done: "done"
    case .error(let code): "error \(code)"
    case .overrun: "overrun"
    case .ignored: "ignored"
    }
  }
}
