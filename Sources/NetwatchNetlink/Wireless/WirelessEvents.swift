import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop

/// Receives the kernel's notifications about wireless links that may have joined another network or changed their mode.
///
/// Needs no privilege. It can be opened before the kernel has nl80211, and follows nl80211 when it is loaded.
final class WirelessEvents {
  /// The commands that try to associate a link, associate it, end that, or change the link's mode. Joining a mesh is not announced.
  private static let commands: [nl80211_commands] = [
    NL80211_CMD_CONNECT, NL80211_CMD_ROAM, NL80211_CMD_DISCONNECT, NL80211_CMD_DEAUTHENTICATE,
    NL80211_CMD_DISASSOCIATE, NL80211_CMD_JOIN_IBSS, NL80211_CMD_NEW_INTERFACE, NL80211_CMD_SET_INTERFACE,
    NL80211_CMD_DEL_INTERFACE, NL80211_CMD_AUTHENTICATE, NL80211_CMD_ASSOCIATE,
  ]
  /// The group "notify" of the controller, which reports families; its number is fixed.
  private static let familyGroup = GENL_ID_CTRL
  /// The size of the receive buffer in bytes: room for some hundred messages.
  private static let receiveBufferSize = 1 << 18

  private let socket: NetlinkSocket
  private let queries: WirelessQueries
  private var family: UInt16?

  /// Joins its group before it looks for nl80211, so that no change is missed.
  ///
  /// - Parameters:
  ///   - queries: The requests, which look for nl80211 again whenever it appears or disappears.
  ///   - receiveBuffer: The size of the receive buffer in bytes. Default: 256 KiB. Small ones are for tests of overruns.
  init(
    _ queries: WirelessQueries, of input: KernelInterface = .kernel, receiveBuffer: Int? = nil
  ) throws(SystemError) {
    self.queries = queries
    socket = try NetlinkSocket(
      .wirelessEvent, of: input.transport, protocol: NETLINK_GENERIC, log: WirelessDecoder.log("event"))
    try socket.makeNonBlocking()
    socket.setReceiveBuffer(bytes: receiveBuffer ?? Self.receiveBufferSize)
    // Without the filter, more messages than necessary wake the thread.
    _ = socket.attach(Self.filter)
    try socket.join(group: Self.familyGroup)
    try follow(queries.findFamily())
  }

  /// The descriptor; readable when there is something to ``read(_:)``.
  var descriptor: CInt { socket.descriptor }

  /// Reads all messages.
  ///
  /// - Parameter body: The closure that gets each message about a link, and the link.
  /// - Returns: False if the state of every link has to be requested: messages were lost, or nl80211 has appeared or
  ///   disappeared.
  func read(_ body: (_ index: Int32, WirelessDecoder.Content) -> Void) throws(SystemError) -> Bool {
    var isWhole = true
    var familyHasChanged = false
    while try socket.readFrames({ frame, bytes in
      if frame.kind == .overrun { isWhole = false }
      guard frame.kind == .payload else { return }
      switch WirelessDecoder.message(frame, bytes, family: family) {
      case .wireless(let content): if let index = content.index { body(index, content) }
      case .family, .familyRemoved: familyHasChanged = true
      case .ignored: break
      }
    }) {}
    // A message about a family may be among the lost ones.
    if familyHasChanged || !isWhole { try follow(queries.findFamily()) }
    return isWhole && !familyHasChanged
  }

  /// Joins the groups of a family. The kernel has ended the membership of groups that are gone.
  private func follow(_ found: WirelessDecoder.Family?) throws(SystemError) {
    guard found?.id != family else { return }
    family = nil
    if let group = found?.associations { try socket.join(group: group) }
    if let group = found?.configuration { try socket.join(group: group) }
    family = found?.id
  }

  /// The filter that passes the messages of interest. Others, such as each frame of a handshake, do not wake the thread.
  static var filter: [sock_filter] {
    let pass = true
    /// The offset of the command, after the netlink header.
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
