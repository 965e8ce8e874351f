import CLibNetlink
import Netwatch

@testable import NetlinkWire
@testable import NetwatchNetlink

/// The decoder and the filter of wireless links in the form in which tests call them.
enum Wireless {
  struct Result: Hashable {
    let frame: NetlinkMessage
    /// The message in the frame. It is `ignored` if the frame is neither a message of the controller nor one of
    /// nl80211.
    let message: WirelessDecoder.Message
    var range: Range<Int> { frame.record }
  }

  /// The offset of the command, which follows the header of netlink.
  static let commandOffset = 16
  /// The family of nl80211 with the numbers of ``WirelessCorpus``.
  static let family = WirelessDecoder.Family(id: WirelessCorpus.family, associations: 12, configuration: 9)
  static let filter = FilterInterpreter(program: WirelessEvents.filter)

  static func all(_ bytes: [UInt8], family: UInt16? = WirelessCorpus.family) -> [Result] {
    var results: [Result] = []
    unsafe bytes.withUnsafeBytes { raw in
      let bytes = unsafe raw.bytes
      NetlinkMessage.forEach(in: bytes) { frame in
        let message = frame.kind == .payload ? WirelessDecoder.message(frame, bytes, family: family) : .ignored
        results.append(Result(frame: frame, message: message))
      }
    }
    return results
  }

  static func messages(_ bytes: [UInt8], family: UInt16? = WirelessCorpus.family) -> [WirelessDecoder.Message] {
    all(bytes, family: family).map(\.message)
  }

  /// Returns what a message of nl80211 says; nil if the message is not one of nl80211.
  static func content(_ bytes: [UInt8]) -> WirelessDecoder.Content? {
    guard case .wireless(let content) = messages(bytes).first else { return nil }
    return content
  }
}

extension MessageBuilder {
  static func wireless(
    _ command: nl80211_commands, link: Int32? = nil, _ fill: (inout MessageBuilder) -> Void = { _ in }
  ) -> [UInt8] {
    var message = MessageBuilder(type: Int(WirelessCorpus.family))
    message.append([UInt8(command.rawValue), 1, 0, 0])
    if let link { message.attribute(Int(NL80211_ATTR_IFINDEX.rawValue), number: link) }
    fill(&message)
    return message.bytes
  }

  /// Returns an entry of a list of networks.
  static func network(_ status: nl80211_bss_status, _ elements: [UInt8]) -> [UInt8] {
    wireless(NL80211_CMD_NEW_SCAN_RESULTS, link: 2) {
      $0.attribute(
        Int(NL80211_ATTR_BSS.rawValue),
        attribute(Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue), elements)
          + attribute(Int(NL80211_BSS_STATUS.rawValue), raw(status.rawValue)))
    }
  }

  static func controller(_ fill: [(inout MessageBuilder) -> Void]) -> [UInt8] {
    var message = MessageBuilder(type: Int(GENL_ID_CTRL))
    message.append([UInt8(CTRL_CMD_NEWFAMILY), 2, 0, 0])
    for step in fill { step(&message) }
    return message.bytes
  }
}
