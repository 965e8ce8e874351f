import CLibNetlink
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A netlink socket. libnl opens it and joins groups. Messages are read into one fixed buffer, which needs no allocation and no
/// second system call for the size.
@safe package final class NetlinkSocket {
  /// The size of the buffer in bytes. It is larger than any message: the kernel makes the parts of a list as large as the
  /// reader's buffer, up to 32 KiB.
  package static let bufferSize = 64 << 10

  /// The descriptor. Negative if there is no kernel, as in a replay; settings then have no effect.
  package let descriptor: CInt
  private let channel: NetlinkTransport.Channel
  private let transport: NetlinkTransport
  private let log: NetlinkDebugLog?
  private let buffer: UnsafeMutableRawBufferPointer
  private let handle: OpaquePointer?

  /// Opens a socket.
  ///
  /// - Parameters:
  ///   - channel: The name of the socket in a trace.
  ///   - family: The kernel's subsystem, NETLINK_*. Default: NETLINK_ROUTE.
  package init(
    _ channel: NetlinkTransport.Channel = .event, of transport: NetlinkTransport = .kernel,
    protocol family: CInt = NETLINK_ROUTE, log: NetlinkDebugLog? = nil
  ) throws(SystemError) {
    let handle = unsafe try transport.open(family)
    unsafe self.handle = unsafe handle
    self.channel = channel
    self.transport = transport
    self.log = log
    descriptor = unsafe handle.map { unsafe nl_socket_get_fd($0) } ?? -1
    unsafe buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
  }

  deinit {
    unsafe nl_socket_free(handle)
    unsafe buffer.deallocate()
  }

  // MARK: Settings

  package func join(_ group: rtnetlink_groups) throws(SystemError) {
    try join(group: Int32(group.rawValue))
  }

  /// Joins a group by its number. For generic netlink, the numbers are known only at run time.
  package func join(group number: Int32) throws(SystemError) {
    try transport.perform(.join, channel) { () throws(SystemError) in
      guard unsafe nl_socket_add_membership(handle, number) == 0 else {
        throw .netlink(NetlinkTransport.Call.join.operation, errno)
      }
    }
  }

  package func makeNonBlocking() throws(SystemError) {
    guard let handle = unsafe handle else { return }
    guard unsafe nl_socket_set_nonblocking(handle) == 0 else { throw .netlink("fcntl(O_NONBLOCK)", errno) }
  }

  /// Sets the size of the receive buffer. SO_RCVBUFFORCE needs CAP_NET_ADMIN; SO_RCVBUF is silently limited by
  /// net.core.rmem_max.
  package func setReceiveBuffer(bytes: Int) {
    if !set(SO_RCVBUFFORCE, CInt(clamping: bytes)) { set(SO_RCVBUF, CInt(clamping: bytes)) }
  }

  /// The size of the receive buffer in bytes, as the kernel counts it, including its own overhead. Nil if there is no kernel.
  package var receiveBuffer: Int? {
    var size: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 ? Int(size) : nil
  }

  fileprivate func setReceiveTimeout(seconds: Int) { set(SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: 0)) }

  /// Makes the kernel apply the filters of a request strictly, instead of ignoring those that it does not know.
  ///
  /// - Returns: False if the kernel does not support this (before Linux 4.20).
  fileprivate func enableStrictChecking() -> Bool {
    unsafe handle == nil || set(NETLINK_GET_STRICT_CHK, CInt(1), of: SOL_NETLINK)
  }

  /// Replaces the filter. If the kernel refuses it, or has no room for it (net.core.optmem_max), all messages pass.
  ///
  /// - Returns: Whether the filter is attached.
  package func attach(_ program: [sock_filter]) -> Bool {
    let result: ()? = try? transport.perform(.attach, channel) { () throws(SystemError) in
      if setFilter(program) { return }
      // The old and the new filter both take memory until the old one is gone; kernels before 6.8 have room for about ten
      // addresses. The old filter must not stay, because it would drop messages that the new one passes.
      set(SO_DETACH_FILTER, CInt(0))
      guard setFilter(program) else { throw .netlink(NetlinkTransport.Call.attach.operation, errno) }
    }
    return result != nil
  }

  private func setFilter(_ program: [sock_filter]) -> Bool {
    var program = program
    return unsafe program.withUnsafeMutableBufferPointer { instructions in
      let filter = unsafe sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
      return unsafe set(SO_ATTACH_FILTER, filter)
    }
  }

  @discardableResult private func set<Value>(_ option: CInt, _ value: Value, of level: CInt = SOL_SOCKET) -> Bool {
    unsafe withUnsafePointer(to: value) {
      unsafe setsockopt(descriptor, level, option, $0, socklen_t(MemoryLayout<Value>.size)) == 0
    }
  }

  // MARK: Messages

  func send(_ message: borrowing [UInt8]) throws(SystemError) {
    let bytes = unsafe message.span.bytes
    try transport.perform(.send, channel) { () throws(SystemError) in
      let sent = unsafe bytes.withUnsafeBytes { unsafe NetwatchLibC.send(descriptor, $0.baseAddress, $0.count, 0) }
      guard sent == bytes.byteCount else { throw .netlink(NetlinkTransport.Call.send.operation, errno) }
    }
  }

  /// Reads one datagram if there is one. Dropped messages are reported as one more frame.
  ///
  /// - Parameter body: The closure that gets each message.
  /// - Returns: False if there is nothing to read now.
  package func readFrames(_ body: (NetlinkMessage, RawSpan) -> Void) throws(SystemError) -> Bool {
    switch try receive() {
    case .wouldBlock: return false
    case .overrun: withMessages(0) { body(.overrun, $0) }
    case .messages(let count):
      withMessages(count) { bytes in
        NetlinkMessage.forEach(in: bytes) { frame in
          log?.print(frame, bytes)
          body(frame, bytes)
        }
      }
    }
    return true
  }

  private func withMessages(_ count: Int, _ body: (RawSpan) -> Void) {
    unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
  }

  package func receive() throws(SystemError) -> NetlinkTransport.Received {
    try unsafe transport.receive(channel, descriptor, buffer)
  }
}

/// What the sockets of netlink are connected to: the kernel, the kernel with a recording, or a trace.
///
/// No other code of a socket knows which of these is used.
@safe package struct NetlinkTransport {
  /// A socket, with its name in a trace.
  package enum Channel: String, Hashable, Sendable, CaseIterable {
    /// The notifications of rtnetlink.
    case event
    /// The responses of rtnetlink.
    case reply
    /// The notifications of nl80211.
    case wirelessEvent = "wireless-event"
    /// The responses of nl80211.
    case wirelessReply = "wireless-reply"
    /// The counters of links.
    case counters
  }

  /// A system call on a socket whose failure affects the reader.
  package enum Call: String, Hashable, Sendable, CaseIterable {
    /// Reading from the socket.
    case receive = "recv"
    /// Writing to the socket.
    case send = "send"
    /// Joining a group of notifications.
    case join = "join"
    /// Attaching a filter.
    case attach = "attach"

    /// The name of the call in error messages.
    package var operation: String {
      switch self {
      case .receive, .send: rawValue
      case .join: "setsockopt(NETLINK_ADD_MEMBERSHIP)"
      case .attach: "setsockopt(SO_ATTACH_FILTER)"
      }
    }
  }

  /// The result of reading from a socket.
  package enum Received: Hashable, Sendable {
    /// The number of bytes of messages in the buffer.
    case messages(Int)
    /// There is nothing to read now.
    case wouldBlock
    /// The kernel dropped messages. It reports this once; the queued messages stay readable.
    case overrun
  }

  /// What a recording or a trace does in place of the calls of a socket.
  @safe package final class TraceTap {
    package typealias Perform = (Call, Channel, _ body: () throws(SystemError) -> Void) throws(SystemError) -> Void
    package typealias Receive = (Channel, _ descriptor: CInt, UnsafeMutableRawBufferPointer) throws(SystemError) ->
      Received

    fileprivate let perform: Perform
    fileprivate let receive: Receive

    package init(perform: @escaping Perform, receive: @escaping Receive) {
      self.perform = perform
      unsafe self.receive = unsafe receive
    }
  }

  /// Whether there is a kernel. In a replay there is none, and sockets have no descriptor.
  private let hasKernel: Bool
  /// Nil for the kernel alone.
  private let tap: TraceTap?

  /// The kernel that this process runs on.
  package static var kernel: NetlinkTransport { NetlinkTransport(hasKernel: true, tap: nil) }

  /// Returns a transport to the kernel that a recording follows.
  package static func recorded(_ tap: TraceTap) -> NetlinkTransport {
    NetlinkTransport(hasKernel: true, tap: tap)
  }

  /// Returns a transport without a kernel, as a trace replays it.
  package static func replayed(_ tap: TraceTap) -> NetlinkTransport {
    NetlinkTransport(hasKernel: false, tap: tap)
  }

  /// Opens a socket of a netlink family (NETLINK_*) that only the kernel can send to. Nil if there is no kernel.
  func open(_ family: CInt) throws(SystemError) -> OpaquePointer? {
    guard hasKernel else { return nil }
    return unsafe try Self.connect(family)
  }

  /// Performs `body` on a socket, or replays its result.
  func perform(_ call: Call, _ channel: Channel, _ body: () throws(SystemError) -> Void) throws(SystemError) {
    guard let tap else { return try body() }
    try tap.perform(call, channel, body)
  }

  /// Reads one datagram from a descriptor into a buffer.
  package func receive(
    _ channel: Channel, _ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Received {
    guard let tap else { return unsafe try Self.read(descriptor, into: buffer) }
    return unsafe try tap.receive(channel, descriptor, buffer)
  }

  private static func connect(_ family: CInt) throws(SystemError) -> OpaquePointer? {
    guard let handle = unsafe nl_socket_alloc() else {
      throw SystemError.netlink("nl_socket_alloc", ENOMEM)
    }
    guard unsafe nl_connect(handle, family) == 0 else {
      let error = SystemError.netlink("socket(AF_NETLINK)", errno)
      unsafe nl_socket_free(handle)
      throw error
    }
    // Messages of other processes are refused (ECONNREFUSED at the sender), so senders do not have to be checked. The kernel
    // has port 0.
    var kernel = sockaddr_nl()
    kernel.nl_family = sa_family_t(AF_NETLINK)
    let result = unsafe withUnsafePointer(to: &kernel) { kernel in
      unsafe kernel.withMemoryRebound(to: sockaddr.self, capacity: 1) { kernel in
        unsafe NetwatchLibC.connect(nl_socket_get_fd(handle), kernel, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    guard result == 0 else {
      let error = SystemError.netlink("connect(AF_NETLINK)", errno)
      unsafe nl_socket_free(handle)
      throw error
    }
    return unsafe handle
  }

  private static func read(
    _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Received {
    while true {
      // With MSG_TRUNC, the result is the length of the message even if it did not fit.
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_TRUNC))
      if count < 0 {
        switch errno {
        case EINTR: continue
        case EAGAIN: return .wouldBlock
        case ENOBUFS: return .overrun
        default: throw .netlink(Call.receive.operation, errno)
        }
      }
      return count > buffer.count ? .overrun : .messages(count)
    }
  }
}

/// The part that messages of every netlink family have in common: struct nlmsghdr, and the position of the content.
package struct NetlinkMessage: Hashable {
  package enum Kind: Hashable {
    /// A message of the family.
    case payload
    /// The end of a list.
    case done
    /// A refusal; with code 0, an acknowledgement.
    case error(code: Int32)
    /// Messages were dropped: by the kernel, or inside this socket (NLMSG_OVERRUN).
    case overrun
  }

  package let kind: Kind
  package let type: UInt16
  let sequence: UInt32
  /// Whether the tables changed while this list was made.
  let isInterrupted: Bool
  /// The position of the content after the header.
  package let payload: Range<Int>
  /// The position of the whole message.
  let record: Range<Int>

  /// A frame that represents dropped messages.
  static var overrun: NetlinkMessage {
    NetlinkMessage(
      kind: .overrun, type: UInt16(NLMSG_OVERRUN), sequence: 0, isInterrupted: false, payload: 0..<0, record: 0..<0)
  }

  /// Length (4), type (2), flags (2), sequence (4), port (4).
  private static let headerLength = 16

  /// Calls `body` with each message of a datagram, in order. It stops at a message that is too short or gives a wrong length.
  package static func forEach(in bytes: RawSpan, _ body: (NetlinkMessage) -> Void) {
    var cursor = NetlinkCursor(0..<bytes.byteCount)
    while cursor.hasRoom(for: headerLength) {
      let start = cursor.offset
      let length = Int(bytes.load(start, as: UInt32.self))
      guard let record = cursor.next(length: length, header: headerLength) else { return }
      let type = bytes.load(start + 4, as: UInt16.self)
      let payload = (start + headerLength)..<record.upperBound
      body(
        NetlinkMessage(
          kind: type < NLMSG_MIN_TYPE ? control(type, bytes, payload) : .payload, type: type,
          sequence: bytes.load(start + 8, as: UInt32.self),
          isInterrupted: bytes.load(start + 6, as: UInt16.self) & UInt16(NLM_F_DUMP_INTR) != 0, payload: payload,
          record: record))
    }
  }

  /// Returns the kind of a control message. A refusal that is too short for a code counts as a payload.
  private static func control(_ type: UInt16, _ bytes: RawSpan, _ payload: Range<Int>) -> Kind {
    let code = bytes.number(payload, as: Int32.self)
    switch CInt(type) {
    case NLMSG_OVERRUN: return .overrun
    // A list can also end with an error, which is in the place of the length.
    case NLMSG_DONE where code ?? 0 >= 0: return .done
    case NLMSG_DONE, NLMSG_ERROR: return code.map { .error(code: $0 == .min ? .max : abs($0)) } ?? .payload
    default: return .payload
    }
  }
}

/// Iterates over length-prefixed, four-byte aligned records: both messages and attributes. Every length is checked, because it
/// is input.
struct NetlinkCursor {
  private(set) var offset: Int
  private let end: Int

  init(_ range: Range<Int>) {
    offset = range.lowerBound
    end = range.upperBound
  }

  /// Returns the bounds of the next record with a header of `header` bytes; nil at the end or if the length is wrong.
  mutating func next(length: Int, header: Int) -> Range<Int>? {
    guard length >= header, length <= end - offset else { return nil }
    let record = offset..<(offset + length)
    offset = min(end, offset + (length + 3) & ~3)
    return record
  }

  func hasRoom(for count: Int) -> Bool { end - offset >= count }
}

extension RawSpan {
  /// Reads a number in the machine's byte order. `offset` must be inside the span: it is checked, and a wrong one traps, so
  /// callers check lengths first.
  package func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
    unsafe unsafeLoadUnaligned(fromByteOffset: offset, as: type)
  }

  /// Reads the number in an attribute; nil if the attribute is too short.
  package func number<Value: FixedWidthInteger & BitwiseCopyable>(_ range: Range<Int>, as type: Value.Type) -> Value? {
    range.count >= MemoryLayout<Value>.size ? load(range.lowerBound, as: type) : nil
  }

  /// Reads text up to the first zero byte. Bytes that are not UTF-8 are replaced. Up to 15 bytes need no allocation.
  package func text(_ range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBytes { bytes in
      let end = unsafe bytes.firstIndex(of: 0) ?? bytes.endIndex
      return unsafe String(decoding: bytes[..<end], as: UTF8.self)
    }
  }

  /// Length (2), type (2).
  private static let attributeHeader = 4
  /// NLA_F_NESTED and NLA_F_NET_BYTEORDER are not part of the type.
  private static let typeMask: UInt16 = 0x3fff

  /// Calls `body` with each attribute of a range: its type and the position of its value. It stops at one that gives a wrong
  /// length.
  package func forEachAttribute(in range: Range<Int>, _ body: (_ type: Int, _ value: Range<Int>) -> Void) {
    var cursor = NetlinkCursor(range)
    while cursor.hasRoom(for: Self.attributeHeader) {
      let start = cursor.offset
      guard let record = cursor.next(length: Int(load(start, as: UInt16.self)), header: Self.attributeHeader) else {
        return
      }
      body(Int(load(start + 2, as: UInt16.self) & Self.typeMask), (start + Self.attributeHeader)..<record.upperBound)
    }
  }

  /// Returns the position of the value of the first attribute of a type.
  package func attribute(_ wanted: Int, in range: Range<Int>) -> Range<Int>? {
    var found: Range<Int>?
    forEachAttribute(in: range) { type, value in if type == wanted, found == nil { found = value } }
    return found
  }
}

/// Sends requests to one netlink family and receives the kernel's responses. It has its own socket, so that no notification
/// comes between a request and its response.
package final class NetlinkRequestSocket {
  /// The state of a response, apart from its messages.
  package struct Reply {
    /// Whether the response is complete. False if messages were lost, or the tables changed meanwhile.
    package fileprivate(set) var isWhole = true
    /// The errno of a refusal; 0 for none.
    package fileprivate(set) var error: CInt = 0
    package fileprivate(set) var isOver = false

    /// Whether the kernel had no memory or was interrupted, so that repeating the request may succeed.
    package var isRefusedForNow: Bool { error != 0 && SystemError.isTransient(error) }

    /// Throws if repeating the request may succeed.
    package func check(_ operation: String) throws(SystemError) {
      if isRefusedForNow { throw SystemError.netlink(operation, error) }
    }

    /// Returns whether the response is complete. If it is not, the request should be repeated. Throws if it was refused for
    /// good.
    func isComplete(_ operation: String) throws(SystemError) -> Bool {
      if error != 0, !isRefusedForNow { throw SystemError.netlink(operation, error) }
      return isWhole && error == 0
    }
  }

  /// Whether the kernel applies every part of a request to rtnetlink, or refuses the request.
  package let isStrict: Bool
  private let socket: NetlinkSocket
  private var sequence: UInt32 = 0
  private var isListing = false
  private var reply = Reply()

  /// Opens the socket of a conversation.
  ///
  /// - Parameter waits: Whether calls wait for responses, at most five seconds. False for responses that are read part by part,
  ///   when the socket is readable. Default: true.
  package init(
    _ channel: NetlinkTransport.Channel, of transport: NetlinkTransport, protocol family: CInt, waits: Bool = true,
    log: NetlinkDebugLog?
  ) throws(SystemError) {
    socket = try NetlinkSocket(channel, of: transport, protocol: family, log: log)
    isStrict = family == NETLINK_ROUTE && socket.enableStrictChecking()
    if waits { socket.setReceiveTimeout(seconds: 5) } else { try socket.makeNonBlocking() }
  }

  /// The descriptor; readable when there is something to ``receive(_:)``.
  package var descriptor: CInt { socket.descriptor }

  /// Sends a request. A late response to an earlier request is ignored.
  package func send(_ request: inout NetlinkRequest) throws(SystemError) {
    sequence &+= 1
    request.setSequence(sequence)
    isListing = request.isListing
    reply = Reply()
    try socket.send(request.bytes)
  }

  /// Reads one datagram if there is one.
  ///
  /// - Parameter body: The closure that gets each message of the response.
  package func receive(_ body: (NetlinkMessage, RawSpan) -> Void) throws(SystemError) -> Reply {
    _ = try read(body)
    return reply
  }

  /// Sends a request and waits for the whole response.
  ///
  /// - Parameter body: The closure that gets each message of the response.
  package func ask(
    _ request: inout NetlinkRequest, _ body: (NetlinkMessage, RawSpan) -> Void
  ) throws(SystemError) -> Reply {
    try send(&request)
    return try waitForReply(body)
  }

  private func waitForReply(_ body: (NetlinkMessage, RawSpan) -> Void) throws(SystemError) -> Reply {
    while !reply.isOver {
      guard try read(body) else { throw SystemError.netlink("recv", ETIMEDOUT) }
    }
    return reply
  }

  private func read(_ body: (NetlinkMessage, RawSpan) -> Void) throws(SystemError) -> Bool {
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
package struct NetlinkRequest {
  package private(set) var bytes: [UInt8]
  /// Whether the response is a list, whose end is marked.
  let isListing: Bool
  /// Whether the request has options that some kernels do not know and refuse.
  var hasOptions = false
  private static let sequenceOffset = 8
  /// More bytes than any request has.
  private static let longest = 512

  package static func build(
    _ type: Int, flags: CInt, _ fill: (OpaquePointer) -> Bool
  ) throws(SystemError) -> NetlinkRequest {
    guard let message = unsafe nlmsg_alloc_size(longest) else { throw SystemError.netlink("nlmsg_alloc_size", ENOMEM) }
    defer { unsafe nlmsg_free(message) }
    // The kernel's port is 0, and the number comes later.
    guard unsafe nlmsg_put(message, 0, 0, CInt(type), 0, NLM_F_REQUEST | flags) != nil, unsafe fill(message),
      let header = unsafe nlmsg_hdr(message)
    else {
      throw SystemError.netlink("nla_put", ENOMEM)
    }
    let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len)))
    return NetlinkRequest(bytes: bytes, isListing: flags & NLM_F_DUMP != 0)
  }

  /// Appends the header of the family, which follows that of netlink.
  package static func append<Header: BitwiseCopyable>(_ header: Header, to message: OpaquePointer) -> Bool {
    var header = header
    return unsafe nlmsg_append(message, &header, MemoryLayout<Header>.size, CInt(NLMSG_ALIGNTO)) == 0
  }

  fileprivate mutating func setSequence(_ sequence: UInt32) { set(sequence, at: Self.sequenceOffset) }

  package mutating func set<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, at offset: Int) {
    unsafe bytes.withUnsafeMutableBytes { unsafe $0.storeBytes(of: value, toByteOffset: offset, as: Value.self) }
  }
}

extension SystemError {
  /// Returns the error of a call to netlink.
  ///
  /// - Parameters:
  ///   - operation: The call that failed, as its manual page names it.
  ///   - code: The system's error number. libnl's own codes combine several of them into one.
  package static func netlink(_ operation: String, _ code: CInt) -> SystemError {
    let system = unsafe String(cString: strerror(code))
    let sentence =
      switch code {
      case EPERM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT, ENOSYS:
        "netlink is not permitted here (\(operation): \(system)); "
          + "allow AF_NETLINK sockets in the sandbox or seccomp filter that this runs under"
      default: "netlink failed (\(operation): \(system))"
      }
    return SystemError(operation: operation, code: code, sentence: sentence)
  }

  /// Whether a request to netlink that failed with this error number may succeed a moment later.
  static func isTransient(_ code: CInt) -> Bool { [ENOBUFS, ENOMEM, EINTR, EAGAIN].contains(code) }

  package var isTransient: Bool { Self.isTransient(code) }

  package var asMonitorError: NetworkMonitorError {
    NetworkMonitorError(operation: operation, code: code, description: description)
  }
}
