import CLibNetlink
import Glibc
import Netwatch

/// Sends requests to one netlink family and receives the kernel's responses. It has its own socket, so that no notification
/// comes between a request and its response.
final class NetlinkConversation {
  /// The state of a response, apart from its messages.
  struct Reply {
    /// Whether the response is complete. False if messages were lost, or the tables changed meanwhile.
    fileprivate(set) var isWhole = true
    /// The errno of a refusal; 0 for none.
    fileprivate(set) var error: CInt = 0
    fileprivate(set) var isOver = false

    /// Whether the kernel had no memory or was interrupted, so that repeating the request may succeed.
    var isRefusedForNow: Bool { error != 0 && NetlinkError(operation: "", code: error).isTransient }

    /// Throws if repeating the request may succeed.
    func check(_ operation: String) throws(NetlinkError) {
      if isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
    }

    /// Returns whether the response is complete. If it is not, the request should be repeated. Throws if it was refused for
    /// good.
    func isComplete(_ operation: String) throws(NetlinkError) -> Bool {
      if error != 0, !isRefusedForNow { throw NetlinkError(operation: operation, code: error) }
      return isWhole && error == 0
    }
  }

  /// Whether the kernel applies every part of a request to rtnetlink, or refuses the request.
  let isStrict: Bool
  private let socket: NetlinkSocket
  private var sequence: UInt32 = 0
  private var isListing = false
  private var reply = Reply()

  /// Opens the socket of a conversation.
  ///
  /// - Parameter waits: Whether calls wait for responses, at most five seconds. False for responses that are read part by part,
  ///   when the socket is readable. Default: true.
  init(
    _ channel: NetlinkInput.Channel, of input: NetlinkInput, protocol family: CInt, waits: Bool = true,
    log: NetlinkDebugLog?
  ) throws(NetlinkError) {
    socket = try NetlinkSocket(channel, of: input, protocol: family, log: log)
    isStrict = family == NETLINK_ROUTE && socket.enableStrictChecking()
    if waits { socket.setReceiveTimeout(seconds: 5) } else { try socket.makeNonBlocking() }
  }

  /// The descriptor; readable when there is something to ``receive(_:)``.
  var descriptor: CInt { socket.descriptor }

  /// Sends a request. A late response to an earlier request is ignored.
  func send(_ request: inout NetlinkRequest) throws(NetlinkError) {
    sequence &+= 1
    request.setSequence(sequence)
    isListing = request.isListing
    reply = Reply()
    try socket.send(request.bytes)
  }

  /// Reads one datagram if there is one.
  ///
  /// - Parameter body: The closure that gets each message of the response.
  func receive(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Reply {
    _ = try read(body)
    return reply
  }

  /// Sends a request and waits for the whole response.
  ///
  /// - Parameter body: The closure that gets each message of the response.
  func ask(
    _ request: inout NetlinkRequest, _ body: (NetlinkFrame, RawSpan) -> Void
  ) throws(NetlinkError) -> Reply {
    try send(&request)
    return try waitForReply(body)
  }

  private func waitForReply(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Reply {
    while !reply.isOver {
      guard try read(body) else { throw NetlinkError(operation: "recv", code: ETIMEDOUT) }
    }
    return reply
  }

  private func read(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Bool {
    try socket.readFrames { frame, bytes in
      if frame.kind == .overrun { reply.isWhole = false }
      // Skip the rest of an earlier response that was given up.
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

/// A request as bytes, built by libnl. The requests that are sent for every event are built once.
struct NetlinkRequest {
  private(set) var bytes: [UInt8]
  /// Whether the response is a list, whose end is marked.
  let isListing: Bool
  /// Whether the request has options that some kernels do not know and refuse.
  var hasOptions = false
  private static let sequenceOffset = 8

  static func build(
    _ type: Int, flags: CInt, _ fill: (OpaquePointer) -> Bool
  ) throws(NetlinkError) -> NetlinkRequest {
    guard let message = unsafe nlmsg_alloc_simple(CInt(type), NLM_F_REQUEST | flags) else {
      throw NetlinkError(operation: "nlmsg_alloc_simple", code: ENOMEM)
    }
    defer { unsafe nlmsg_free(message) }
    guard unsafe fill(message), let header = unsafe nlmsg_hdr(message) else {
      throw NetlinkError(operation: "nla_put", code: ENOMEM)
    }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len)))
    return NetlinkRequest(bytes: bytes, isListing: flags & NLM_F_DUMP != 0)
  }

  /// Appends the header of the family, which follows that of netlink.
  static func append<Header: BitwiseCopyable>(_ header: Header, to message: OpaquePointer) -> Bool {
    var header = header
    return unsafe nlmsg_append(message, &header, MemoryLayout<Header>.size, CInt(NLMSG_ALIGNTO)) == 0
  }

  mutating func setSequence(_ sequence: UInt32) { set(sequence, at: Self.sequenceOffset) }

  mutating func set<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
  }
}
