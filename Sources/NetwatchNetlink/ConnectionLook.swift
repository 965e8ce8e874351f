import CLibNetlink
import CLibNetlinkDiag
import Glibc
import Netwatch
import NetwatchEventLoop

/// Looks at the TCP connections of this network namespace, by sock_diag. Needs no privilege.
///
/// The kernel lists some eighty at a time, when we read; so a look does not hold up what else the loop does.
final class ConnectionLook {
  enum Step: Hashable {
    /// More is to come.
    case goesOn
    /// - isWhole: false if something may be missing.
    case ended(isWhole: Bool)
  }

  let socket: NetlinkSocket
  private var request: NetlinkRequest
  private var sequence: UInt32 = 0
  private var isWhole = true
  /// Of this look and of the one before: the kernel lists who listens first, but they may come amid a look.
  private var listeners = PortSet()
  private var knownListeners = PortSet()
  private let trace = NetlinkTrace.fromEnvironment()

  init() throws(NetlinkError) {
    socket = try NetlinkSocket.open(protocol: NETLINK_SOCK_DIAG)
    try socket.makeNonBlocking()
    request = try .connections()
  }

  /// Asks. The kernel gathers the first part at once.
  func begin() throws(NetlinkError) {
    swap(&listeners, &knownListeners)
    listeners.removeAll()
    isWhole = true
    sequence &+= 1
    request.setSequence(sequence)
    try socket.send(request.bytes)
  }

  /// Reads what is there, one part of the list at most.
  ///
  /// - Parameter body: is called with each connection that leaves this machine.
  func step(_ body: (ConnectionDecoder.Connection) -> Void) throws(NetlinkError) -> Step {
    switch try socket.receive() {
    case .wouldBlock: return .goesOn
    case .overrun:
      isWhole = false
      return .goesOn
    case .messages(let count):
      var isOver = false
      var refusal: CInt?
      socket.withMessages(count) { bytes in
        ConnectionDecoder.decode(bytes) { header, message, range in
          trace?.print("tcp", header, "\(message)", bytes, range)
          // The rest of an earlier look that was given up.
          guard header.sequence == sequence else { return }
          if header.isInterrupted { isWhole = false }
          switch message {
          case .connection(var connection):
            guard !connection.isLocal else { return }
            let port = connection.localPort
            connection.facts.isAccepted = listeners.contains(port) || knownListeners.contains(port)
            body(connection)
          case .listener(let port): listeners.insert(port)
          case .done: isOver = true
          case .error(let code): refusal = code
          case .overrun: isWhole = false
          case .ignored: break
          }
        }
      }
      if let refusal { throw NetlinkError(operation: "sock_diag", code: refusal) }
      return isOver ? .ended(isWhole: isWhole) : .goesOn
    }
  }
}

/// Some of the 65,536 ports.
struct PortSet {
  private var words = [UInt64](repeating: 0, count: 1_024)

  func contains(_ port: UInt16) -> Bool { words[Int(port >> 6)] & 1 << UInt64(port & 63) != 0 }

  mutating func insert(_ port: UInt16) { words[Int(port >> 6)] |= 1 << UInt64(port & 63) }

  mutating func removeAll() { for place in words.indices { words[place] = 0 } }
}
