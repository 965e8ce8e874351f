import CLibNetlink
import Glibc
import Netwatch

/// Questions to one netlink family and the kernel's answers, over a socket of their own so that no notification comes
/// between question and answer.
final class NetlinkConversation {
  /// How the kernel has answered so far, beside what it said.
  struct Reply {
    /// False if something may be missing: messages were lost, or the tables changed meanwhile.
    fileprivate(set) var isWhole = true
    /// The errno of a refusal; 0 for none.
    fileprivate(set) var error: CInt = 0
    fileprivate(set) var isOver = false

    /// The kernel had no memory, or was interrupted: the same question may be answered.
    var isRefusedForNow: Bool { error != 0 && NetlinkError(operation: "", code: error).isTransient }

    /// Throws if it is worth another try.
    func check(_ operation: String) throws(NetlinkError) {
      if isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
    }

    /// Whether all was told; if not, it is worth another try.
    func isComplete(_ operation: String) throws(NetlinkError) -> Bool {
      if error != 0, !isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
      return isWhole && error == 0
    }
  }

  /// The kernel honours all of a request to rtnetlink, or refuses it.
  let isStrict: Bool
  private let socket: NetlinkSocket
  private var sequence: UInt32 = 0
  private var isListing = false
  private var reply = Reply()

  /// - Parameter waits: false for answers that are read part by part, when the socket is readable.
  init(
    _ channel: NetlinkInput.Channel, of input: NetlinkInput, protocol family: CInt, waits: Bool = true,
    log: NetlinkDebugLog?
  ) throws(NetlinkError) {
    socket = try NetlinkSocket.open(channel, of: input, protocol: family, log: log)
    isStrict = family == NETLINK_ROUTE && socket.enableStrictChecking()
    if waits { socket.setReceiveTimeout(seconds: 5) } else { try socket.makeNonBlocking() }
  }

  /// Readable when there is something to ``receive(_:)``.
  var descriptor: CInt { socket.descriptor }

  /// Sends a question. An answer to an earlier one that still comes is left out.
  func send(_ request: inout NetlinkRequest) throws(NetlinkError) {
    sequence &+= 1
    request.setSequence(sequence)
    isListing = request.isListing
    reply = Reply()
    try socket.send(request.bytes)
  }

  /// Reads one datagram, if there is one.
  ///
  /// - Parameter body: is called with each message of the answer.
  func receive(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Reply {
    _ = try read(body)
    return reply
  }

  /// Puts a question and waits for the whole answer.
  ///
  /// - Parameter body: is called with each message of the answer.
  func ask(
    _ request: inout NetlinkRequest, _ body: (NetlinkFrame, RawSpan) -> Void
  ) throws(NetlinkError) -> Reply {
    try send(&request)
    while !reply.isOver {
      guard try read(body) else { throw NetlinkError(operation: "recv", code: ETIMEDOUT) }
    }
    return reply
  }

  private func read(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Bool {
    try socket.readFrames { frame, bytes in
      if frame.kind == .overrun { reply.isWhole = false }
      // The rest of an earlier answer that was given up.
      guard frame.sequence == sequence else { return }
      if frame.isInterrupted { reply.isWhole = false }
      switch frame.kind {
      case .payload:
        body(frame, bytes)
        if !isListing { reply.isOver = true }
      case .done: reply.isOver = true
      case .error(let code):
        reply.error = code
        reply.isOver = true
      case .overrun: break
      }
    }
  }
}
