import CLibNetlink
import Glibc

/// A netlink socket. libnl opens and joins; it is read into one fixed buffer, which costs no allocation and no second system
/// call for the size.
@safe final class NetlinkSocket {
  /// Larger than any message: the kernel makes a listing's parts as large as the reader's buffer, up to 32 KiB.
  static let bufferSize = 64 << 10

  /// Negative if there is no kernel, as in a replay; what is set on it is set nowhere then.
  let descriptor: CInt
  private let handle: OpaquePointer?
  private let input: NetlinkInput
  private let channel: NetlinkInput.Channel
  private let log: NetlinkDebugLog?
  private let buffer: UnsafeMutableRawBufferPointer

  /// - Parameters:
  ///   - channel: what a trace calls it.
  ///   - family: NETLINK_*, the kernel's subsystem.
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

  /// Of generic netlink the groups' numbers are known at run time only.
  func join(group number: Int32) throws(NetlinkError) {
    try input.perform(.join, channel) { () throws(NetlinkError) in
      guard unsafe nl_socket_add_membership(handle, number) == 0 else { throw .last(NetlinkInput.Call.join.operation) }
    }
  }

  func makeNonBlocking() throws(NetlinkError) {
    guard let handle = unsafe handle else { return }
    guard unsafe nl_socket_set_nonblocking(handle) == 0 else { throw .last("fcntl(O_NONBLOCK)") }
  }

  /// The forced way needs CAP_NET_ADMIN; the other one is capped by net.core.rmem_max without a word.
  func setReceiveBuffer(bytes: Int) {
    if !set(SO_RCVBUFFORCE, CInt(clamping: bytes)) { set(SO_RCVBUF, CInt(clamping: bytes)) }
  }

  /// The size of the receive buffer as the kernel counts, which includes what it needs for itself; nil if there is no kernel.
  var receiveBuffer: Int? {
    var size: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, &length) == 0 ? Int(size) : nil
  }

  func setReceiveTimeout(seconds: Int) { set(SO_RCVTIMEO, timeval(tv_sec: seconds, tv_usec: 0)) }

  /// Lets the kernel honour the filters of a request instead of ignoring what it does not know.
  ///
  /// - Returns: false if the kernel cannot (before Linux 4.20).
  func enableStrictChecking() -> Bool { unsafe handle == nil || set(NETLINK_GET_STRICT_CHK, CInt(1), of: SOL_NETLINK) }

  /// Replaces the filter. If the kernel refuses it, or has no room for it (net.core.optmem_max), everything passes.
  ///
  /// - Returns: whether the filter is in place.
  func attach(_ program: [sock_filter]) -> Bool {
    let result: ()? = try? input.perform(.attach, channel) { () throws(NetlinkError) in
      if setFilter(program) { return }
      // Old and new count together until the old one is gone; kernels before 6.8 have room for ten addresses or so. The
      // old one must not stay: it would keep back what the new one lets pass.
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

  /// Reads one datagram, if there is one. What the kernel has dropped stands as a message among the others.
  ///
  /// Inlined: this is on the way of every event.
  ///
  /// - Parameter body: is called with each message.
  /// - Returns: false if nothing can be read for now.
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
