import CLibNetlink
import NetlinkWire
import NetwatchEventLoop

/// The requests to the controller of generic netlink and to nl80211.
extension NetlinkRequest {
  /// Makes the request for every family of generic netlink. A request for one family by name would make the kernel load its
  /// module.
  static func listFamilies() throws(SystemError) -> NetlinkRequest {
    try unsafe build(Int(GENL_ID_CTRL), flags: NLM_F_DUMP) { unsafe append(command(CTRL_CMD_GETFAMILY), to: $0) }
  }

  /// Makes a request to nl80211 about a link. The family's number and the link's index are set later.
  static func wireless(_ question: nl80211_commands, isListing: Bool) throws(SystemError) -> NetlinkRequest {
    try unsafe build(0, flags: isListing ? NLM_F_DUMP : 0) { message in
      unsafe append(command(Int(question.rawValue)), to: message)
        && nla_put_u32(message, CInt(NL80211_ATTR_IFINDEX.rawValue), 0) == 0
    }
  }

  /// Sets the family in ``wireless(_:isListing:)``; it is in the place of the type.
  mutating func setFamily(_ family: UInt16) { set(family, at: 4) }

  /// Sets the link in ``wireless(_:isListing:)``; the attribute comes last.
  mutating func setWirelessLink(_ index: Int32) { set(index, at: bytes.count - 4) }

  private static func command(_ number: Int) -> genlmsghdr { genlmsghdr(cmd: UInt8(number), version: 1, reserved: 0) }
}
