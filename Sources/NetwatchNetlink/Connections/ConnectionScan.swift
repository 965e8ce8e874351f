import CLibNetlink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Lists the TCP connections of this network namespace by sock_diag. Needs no privilege.
///
/// The kernel lists about eighty connections at each read. So a scan does not block the other work of the loop.
final class ConnectionScan {
  private let conversation: NetlinkRequestSocket
  private var request: NetlinkRequest
  /// The ports on which programs listen, in this scan and in the one before. The kernel lists listeners first, but new ones may
  /// start during a scan.
  private var listeners = PortSet()
  private var knownListeners = PortSet()

  init() throws(SystemError) {
    conversation = try NetlinkRequestSocket(
      .reply, of: .kernel, protocol: NETLINK_SOCK_DIAG, waits: false, log: ConnectionDecoder.log("tcp"))
    request = try .connections()
  }

  /// The descriptor; readable when there is a part to ``read(_:)``.
  var descriptor: CInt { conversation.descriptor }

  /// Sends the request. The kernel gathers the first part at once.
  func begin() throws(SystemError) {
    swap(&listeners, &knownListeners)
    listeners.removeAll()
    try conversation.send(&request)
  }

  /// Sends the request and reads the whole list before it returns. The kernel gathers each part as it is read, so the call does
  /// not wait.
  ///
  /// - Returns: Whether the list is complete.
  func readAll(_ body: (ConnectionDecoder.Connection) -> Void) throws(SystemError) -> Bool {
    do throws(SystemError) {
      try begin()
      while true {
        let reply = try read(body)
        if reply.isOver { return reply.isWhole }
      }
    } catch {
      guard error.isTransient || error.code == EBUSY else { throw error }
      return false
    }
  }

  /// Reads what is available, at most one part of the list.
  ///
  /// - Parameter body: The closure that gets each connection that leaves this machine.
  func read(_ body: (ConnectionDecoder.Connection) -> Void) throws(SystemError) -> NetlinkRequestSocket.Reply {
    let reply = try conversation.receive { frame, bytes in
      switch ConnectionDecoder.message(frame, bytes) {
      case .connection(var connection):
        guard !connection.isLocal else { return }
        let port = connection.localPort
        connection.facts.isAccepted = listeners.contains(port) || knownListeners.contains(port)
        body(connection)
      case .listener(let port): listeners.insert(port)
      case .ended, .ignored: break
      }
    }
    if reply.error != 0 { throw SystemError.netlink("sock_diag", reply.error) }
    return reply
  }
}

/// A set of ports.
private struct PortSet {
  private var words = [UInt64](repeating: 0, count: 1_024)

  func contains(_ port: UInt16) -> Bool { words[Int(port >> 6)] & 1 << UInt64(port & 63) != 0 }

  mutating func insert(_ port: UInt16) { words[Int(port >> 6)] |= 1 << UInt64(port & 63) }

  mutating func removeAll() { for place in words.indices { words[place] = 0 } }
}
