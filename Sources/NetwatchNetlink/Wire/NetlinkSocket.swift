import CLibNetlink
import Glibc

/// A netlink socket. libnl opens it and joins groups. Messages are read into one fixed buffer, which needs no allocation and no
/// second system call for the size.
@safe final class NetlinkSocket {
  /// The size of the buffer in bytes. It is larger than any message: the kernel makes the parts of a list as large as the
  /// reader's buffer, up to 32 KiB.
  static let bufferSize = 64 << 10

  /// The descriptor. Negative if there is no kernel, as in a replay; settings then have no effect.
  let descriptor: CInt
  // What a message needs stands together, before and at the beginning of the input, so that it is in few lines of cache.
  private let channel: NetlinkInput.Channel
  private let log: NetlinkDebugLog?
  private let buffer: UnsafeMutableRawBufferPointer
  private let input: NetlinkInput
  private let handle: OpaquePointer?

  /// Opens a socket.
  ///
  /// - Parameters:
  ///   - channel: The name of the socket in a trace.
  ///   - family: The kernel's subsystem, NETLINK_*. Default: NETLINK_ROUTE.
  init(
    _ channel: NetlinkInput.Channel = .event, of input: NetlinkInput = .kernel,
    protocol family: CInt = NETLINK_ROUTE, log: NetlinkDebugLog? = nil
  ) throws(NetlinkError) {
    let handle = unsafe try input.open(family)
    unsafe self.handle = unsafe handle
    self.channel = channel
    self.input = input
    self.log = log
    descriptor = unsafe handle.map { unsafe nl_socket_get_fd($0) } ?? -1
    unsafe buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
  }

  deinit {
    unsafe nl_socket_free(handle)
    unsafe buffer.deallocate()
  }

  // MARK: Settings

  func join(_ group: rtnetlink_groups) throws(NetlinkError) {
    try join(group: Int32(group.rawValue))
  }

  /// Joins a group by its number. For generic netlink, the numbers are known only at run time.
  func join(group number: Int32) throws(NetlinkError) {
    try input.perform(.join, channel) { () throws(NetlinkError) in
      guard unsafe nl_socket_add_membership(handle, number) == 0 else { throw .last(NetlinkInput.Call.join.operation) }
    }
  }

  func makeNonBlocking() throws(NetlinkError) {
    guard let handle = unsafe handle else { return }
    guard unsafe nl_socket_set_nonblocking(handle) == 0 else { throw .last("fcntl(O_NONBLOCK)") }
  }

  /// Sets the size of the receive buffer. SO_RCVBUFFORCE needs CAP_NET_ADMIN; SO_RCVBUF is silently limited by
  /// net.core.rmem_max.
  func setReceiveBuffer(bytes: Int) {
    if !set(SO_RCVBUFFORCE, CInt(clamping: bytes)) { set(SO_RCVBUF, CInt(clamping: bytes)) }
  }

  /// The size of the receive buffer in bytes, as the kernel counts it, including its own overhead. Nil if there is no kernel.
  var receiveBuffer: Int? {
    var size: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 ? Int(size) : nil
  }

  func setReceiveTimeout(seconds: Int) { set(SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: 0)) }

  /// Makes the kernel apply the filters of a request strictly, instead of ignoring those that it does not know.
  ///
  /// - Returns: False if the kernel does not support this (before Linux 4.20).
  func enableStrictChecking() -> Bool { unsafe handle == nil || set(NETLINK_GET_STRICT_CHK, CInt(1), of: SOL_NETLINK) }

  /// Replaces the filter. If the kernel refuses it, or has no room for it (net.core.optmem_max), all messages pass.
  ///
  /// - Returns: Whether the filter is attached.
  func attach(_ program: [sock_filter]) -> Bool {
    let result: ()? = try? input.perform(.attach, channel) { () throws(NetlinkError) in
      if setFilter(program) { return }
      // The old and the new filter both take memory until the old one is gone; kernels before 6.8 have room for about ten
      // addresses. The old filter must not stay, because it would drop messages that the new one passes.
      set(SO_DETACH_FILTER, CInt(0))
      guard setFilter(program) else { throw .last(NetlinkInput.Call.attach.operation) }
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

  func send(_ message: borrowing [UInt8]) throws(NetlinkError) {
    let bytes = unsafe message.span.bytes
    try input.perform(.send, channel) { () throws(NetlinkError) in
      let sent = unsafe bytes.withUnsafeBytes { unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
      guard sent == bytes.byteCount else { throw .last(NetlinkInput.Call.send.operation) }
    }
  }

  /// Reads one datagram if there is one. Dropped messages are reported as one more frame.
  ///
  /// Inlined, because every event passes through here.
  ///
  /// - Parameter body: The closure that gets each message.
  /// - Returns: False if there is nothing to read now.
  @inline(__always)
  func readFrames(_ body: (NetlinkFrame, RawSpan) -> Void) throws(NetlinkError) -> Bool {
    switch try receive() {
    case .wouldBlock: return false
    case .overrun: withMessages(0) { body(.overrun, $0) }
    case .messages(let count):
      withMessages(count) { bytes in
        NetlinkFrame.forEach(in: bytes) { frame in
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

  func receive() throws(NetlinkError) -> NetlinkInput.Received {
    try unsafe input.receive(channel, descriptor, buffer)
  }
}
