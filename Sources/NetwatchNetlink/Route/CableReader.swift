import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Asks the drivers of network cards about their cables, by the family ethtool of generic netlink. Needs no privilege.
///
/// The kernel responds within the send. Some drivers read registers of the card for it, which can take some milliseconds.
package final class CableReader {
  /// What is missing if there is no reader.
  package static let absence = "the kernel does not tell about cables, because it is older than Linux 5.6"

  private let conversation: NetlinkRequestSocket
  private var modes: NetlinkRequest
  private var state: NetlinkRequest
  /// The link that was asked about last, and those directly beneath it. It is not asked about again as long as they have not changed,
  /// because the machine may have many others.
  private var links: [Interface] = []
  /// The cable of the last path; nil if its driver says nothing.
  package private(set) var cable: CableState?

  /// Opens the socket and looks for the family, which Linux has since 5.6.
  ///
  /// - Throws: A `SystemError` if the kernel refuses the socket, or does not have the family (`ENOENT`).
  package init() throws(SystemError) {
    conversation = try NetlinkRequestSocket(
      .reply, of: .kernel, protocol: NETLINK_GENERIC, log: NetlinkDebugLog("cable") { "\(Answer($0, $1))" })
    var list = try NetlinkRequest.listFamilies()
    var family: UInt16?
    try conversation.ask(&list) { frame, bytes in family = Self.family(frame, bytes) ?? family }.check(
      "CTRL_CMD_GETFAMILY")
    guard let family else { throw SystemError(operation: "CTRL_CMD_GETFAMILY", code: ENOENT) }
    modes = try .cable(Int(ETHTOOL_MSG_LINKMODES_GET), of: family)
    state = try .cable(Int(ETHTOOL_MSG_LINKSTATE_GET), of: family)
  }

  /// Asks about the cable of a path, if its link has changed: the wired link that carries the traffic, or else one that lacks its carrier,
  /// first the one that has carried the traffic before.
  ///
  /// - Parameter lost: The interface that has carried the traffic before.
  /// - Returns: Whether ``cable`` has changed.
  @discardableResult package func follow(_ path: NetworkPath, after lost: NetworkPath.LostInterface?) -> Bool {
    let before = cable
    let link = path.isReachable ? path.interface : Self.darkLink(of: path, after: lost)
    let links = link.map { link in
      [link] + path.links.filter { $0.masterIndex == link.index || $0.index == link.lowerIndex }
    }
    if let links, links == self.links { return false }
    self.links = links ?? []
    // A path of a service has no links.
    let carrier = path.carrier ?? link.map { ($0.index, $0.kernelName) }
    cable = path.medium ?? link?.medium == .wired ? carrier.flatMap { state(of: $0.index, $0.name) } : nil
    return cable != before
  }

  private static func darkLink(of path: NetworkPath, after lost: NetworkPath.LostInterface?) -> Interface? {
    let dark = path.links.filter { $0.medium == .wired && $0.fault == .noCarrier }
    return dark.first { $0.kernelName == lost?.kernelName } ?? dark.first
  }

  /// Returns what the driver of a link says. Nil if it says nothing, as drivers of virtual links and radios.
  package func state(of index: Int32, _ name: InterfaceName) -> CableState? {
    modes.setCableLink(index)
    state.setCableLink(index)
    var all = Answer()
    for request in [modes, state] {
      var request = request
      _ = try? conversation.ask(&request) { frame, bytes in all.merge(Answer(frame, bytes)) }
    }
    // In another network namespace, the index belongs to another link.
    guard all.name == name else { return nil }
    let cable = all.cable(of: name)
    return cable.isEmpty ? nil : cable
  }

  // MARK: Messages

  /// What a response says, as far as netwatch uses it.
  struct Answer: Hashable {
    private(set) var name: InterfaceName?
    private var speed: UInt32?
    private var duplex: UInt8?
    private var modes: [String] = []
    private var peerModes: [String] = []
    private var absence: UInt8?

    init() {}

    mutating func merge(_ other: Answer) {
      name = name ?? other.name
      speed = speed ?? other.speed
      duplex = duplex ?? other.duplex
      modes += other.modes
      peerModes += other.peerModes
      absence = absence ?? other.absence
    }

    func cable(of name: InterfaceName) -> CableState {
      // SPEED_UNKNOWN and DUPLEX_UNKNOWN of <linux/ethtool.h> have all bits set, and some drivers report no speed as 0.
      let speed = speed.flatMap { $0 == 0 || $0 > Int32.max ? nil : Int($0) }
      let all = CableState.Absence.allCases
      return CableState(
        of: name, megabitsPerSecond: speed, isFullDuplex: duplex.flatMap { $0 > 1 ? nil : $0 == 1 }, modes: modes,
        peerModes: peerModes, absence: absence.flatMap { Int($0) < all.count ? all[Int($0)] : nil })
    }
  }

  /// struct genlmsghdr: command, version, reserved (2).
  private static let headerLength = 4

  fileprivate static func attributes(_ frame: NetlinkMessage) -> Range<Int>? {
    frame.payload.count >= headerLength ? frame.payload.lowerBound + headerLength..<frame.payload.upperBound : nil
  }

  /// Returns the number of the family if this response of the controller is about it.
  private static func family(_ frame: NetlinkMessage, _ bytes: RawSpan) -> UInt16? {
    guard Int(frame.type) == GENL_ID_CTRL, let attributes = attributes(frame),
      let name = bytes.attribute(CTRL_ATTR_FAMILY_NAME, in: attributes), bytes.text(name) == ETHTOOL_GENL_NAME,
      let id = bytes.attribute(CTRL_ATTR_FAMILY_ID, in: attributes)
    else { return nil }
    return bytes.number(id, as: UInt16.self)
  }

}

extension CableReader.Answer {
  /// Reads a response to LINKMODES_GET or LINKSTATE_GET. Other messages say nothing.
  init(_ frame: NetlinkMessage, _ bytes: RawSpan) {
    guard let attributes = CableReader.attributes(frame) else { return }
    // The header of each response has the same number.
    if let header = bytes.attribute(Int(ETHTOOL_A_LINKMODES_HEADER), in: attributes),
      let text = bytes.attribute(Int(ETHTOOL_A_HEADER_DEV_NAME), in: header)
    {
      name = InterfaceName(bytes.text(text))
    }
    switch Int(bytes.load(frame.payload.lowerBound, as: UInt8.self)) {
    case Int(ETHTOOL_MSG_LINKMODES_GET_REPLY):
      bytes.forEachAttribute(in: attributes) { type, value in
        switch type {
        case Int(ETHTOOL_A_LINKMODES_SPEED): speed = bytes.number(value, as: UInt32.self)
        case Int(ETHTOOL_A_LINKMODES_DUPLEX): duplex = bytes.number(value, as: UInt8.self)
        case Int(ETHTOOL_A_LINKMODES_OURS): modes = Self.modes(bytes, value, areMasked: true)
        case Int(ETHTOOL_A_LINKMODES_PEER): peerModes = Self.modes(bytes, value, areMasked: false)
        default: break
        }
      }
    case Int(ETHTOOL_MSG_LINKSTATE_GET_REPLY):
      if let value = bytes.attribute(Int(ETHTOOL_A_LINKSTATE_EXT_STATE), in: attributes) {
        absence = bytes.number(value, as: UInt8.self)
      }
    default: break
    }
  }

  /// Returns the modes in a set of bits with names. Other bits, such as `Autoneg` and `TP`, are not modes.
  ///
  /// - Parameter areMasked: Whether the set lists the supported bits, of which those with a value are offered.
  private static func modes(_ bytes: RawSpan, _ set: Range<Int>, areMasked: Bool) -> [String] {
    guard let list = bytes.attribute(Int(ETHTOOL_A_BITSET_BITS), in: set) else { return [] }
    var modes: [String] = []
    bytes.forEachAttribute(in: list) { _, bit in
      guard let name = bytes.attribute(Int(ETHTOOL_A_BITSET_BIT_NAME), in: bit),
        !areMasked || bytes.attribute(Int(ETHTOOL_A_BITSET_BIT_VALUE), in: bit) != nil
      else { return }
      let text = bytes.text(name)
      if text.contains("base") { modes.append(text) }
    }
    return modes
  }
}

extension NetlinkRequest {
  /// Makes a request to the family ethtool about a link, whose index is set later.
  fileprivate static func cable(_ command: Int, of family: UInt16) throws(SystemError) -> NetlinkRequest {
    try unsafe build(Int(family), flags: 0) { message in
      guard
        unsafe append(genlmsghdr(cmd: UInt8(command), version: UInt8(ETHTOOL_GENL_VERSION), reserved: 0), to: message),
        // The header of each request has the same number.
        let header = unsafe nla_nest_start(message, CInt(ETHTOOL_A_LINKMODES_HEADER) | NLA_F_NESTED),
        unsafe nla_put_u32(message, CInt(ETHTOOL_A_HEADER_DEV_INDEX), 0) == 0
      else { return false }
      unsafe nla_nest_end(message, header)
      return true
    }
  }

  /// Sets the link in ``cable(_:of:)``; the attribute comes last.
  fileprivate mutating func setCableLink(_ index: Int32) { set(index, at: bytes.count - 4) }
}
