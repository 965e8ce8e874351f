import CLibNetlink
import Netwatch

/// Hears from the kernel which wireless link may belong to another network now, or may be used for something else.
///
/// Needs no privilege. It can be opened before the kernel has nl80211, and follows it when it comes.
final class WirelessEvents {
  /// What associates a link, ends that, or changes what the link is. Joining a mesh is not announced.
  private static let commands: [nl80211_commands] = [
    NL80211_CMD_CONNECT, NL80211_CMD_ROAM, NL80211_CMD_DISCONNECT, NL80211_CMD_DEAUTHENTICATE,
    NL80211_CMD_DISASSOCIATE, NL80211_CMD_JOIN_IBSS, NL80211_CMD_NEW_INTERFACE, NL80211_CMD_SET_INTERFACE,
    NL80211_CMD_DEL_INTERFACE,
  ]
  /// "notify" of the controller, which tells of families; its number never changes.
  private static let familyGroup = GENL_ID_CTRL
  /// Room for some hundred messages.
  private static let receiveBufferSize = 1 << 18

  private let socket: NetlinkSocket
  private let queries: WirelessQueries
  private var family: UInt16?

  /// Joins before it looks for nl80211, so that nothing falls between.
  ///
  /// - Parameters:
  ///   - queries: look for nl80211 again whenever it comes or goes.
  ///   - receiveBuffer: in bytes; small ones are for tests of overruns.
  init(
    _ queries: WirelessQueries, of input: NetlinkInput = .kernel, receiveBuffer: Int? = nil
  ) throws(NetlinkError) {
    self.queries = queries
    socket = try NetlinkSocket(
      .wirelessEvent, of: input, protocol: NETLINK_GENERIC, log: WirelessDecoder.log("event"))
    try socket.makeNonBlocking()
    socket.setReceiveBuffer(bytes: receiveBuffer ?? Self.receiveBufferSize)
    // Without it more wakes us than has to.
    _ = socket.attach(Self.filter)
    try socket.join(group: Self.familyGroup)
    try follow(queries.findFamily())
  }

  /// Readable when there is something to ``read(_:)``.
  var descriptor: CInt { socket.descriptor }

  /// Reads all there is.
  ///
  /// - Parameter body: is called with each link that has to be asked about, and the access point that it has joined, if that
  ///   is what it has done.
  /// - Returns: false if every link has to be: messages were lost, or nl80211 has come or gone.
  func read(_ body: (_ index: Int32, _ accessPoint: UInt64?) -> Void) throws(NetlinkError) -> Bool {
    var isWhole = true
    var familyHasChanged = false
    while try socket.readFrames({ frame, bytes in
      if frame.kind == .overrun { isWhole = false }
      guard frame.kind == .payload else { return }
      switch WirelessDecoder.message(frame, bytes, family: family) {
      case .wireless(let content): if let index = content.index { body(index, content.joinedAccessPoint) }
      case .family, .familyRemoved: familyHasChanged = true
      case .ignored: break
      }
    }) {}
    // The news of a family can be among what was lost.
    if familyHasChanged || !isWhole { try follow(queries.findFamily()) }
    return isWhole && !familyHasChanged
  }

  /// The kernel has ended the membership of groups that have gone.
  private func follow(_ found: WirelessDecoder.Family?) throws(NetlinkError) {
    guard found?.id != family else { return }
    family = nil
    if let group = found?.associations { try socket.join(group: group) }
    if let group = found?.configuration { try socket.join(group: group) }
    family = found?.id
  }

  /// Lets pass what matters; the rest, such as each frame of a handshake, wakes nobody.
  static var filter: [sock_filter] {
    let pass = true
    /// The command stands behind the header of netlink.
    let commandOffset: UInt32 = 16
    var assembler = FilterAssembler<Bool>()
    assembler.load(byte: commandOffset)
    let newsOfFamilies = [UInt32(CTRL_CMD_NEWFAMILY), UInt32(CTRL_CMD_DELFAMILY)]
    for command in newsOfFamilies + commands.map(\.rawValue) { assembler.jump(ifEqual: command, to: pass) }
    assembler.finish(accepting: 0)
    assembler.mark(pass)
    assembler.finish(accepting: .max)
    return assembler.assemble()
  }
}
