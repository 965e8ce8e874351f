import CLibNetlink
import Glibc

/// A netlink socket. libnl opens and joins; reading is recv(2) into one fixed buffer, which costs no allocation and no
/// second system call for the size.
@safe final class NetlinkSocket {
  enum Received {
    /// As many bytes of the buffer are messages.
    case messages(Int)
    case wouldBlock
    /// The kernel dropped messages. Told once; what is queued stays readable.
    case overrun
  }

  /// Larger than any message: the kernel makes a listing's parts as large as the reader's buffer, up to 32 KiB.
  static let bufferSize = 64 << 10

  /// Negative in a replay, where what is set on it is set nowhere.
  let descriptor: CInt
  /// Nil in a replay.
  private let handle: OpaquePointer?
  private let input: NetlinkInput
  private let channel: TraceChannel
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bufferSize, alignment: 16)

  /// - Parameters:
  ///   - channel: what a trace calls it.
  ///   - family: NETLINK_*, the kernel's subsystem.
  static func open(
    _ channel: TraceChannel = .event, of input: NetlinkInput = .kernel, protocol family: CInt = NETLINK_ROUTE
  ) throws(NetlinkError) -> NetlinkSocket {
    if input.isReplayed { return unsafe NetlinkSocket(owning: nil, channel, input) }
    guard let handle = unsafe nl_socket_alloc() else {
      throw NetlinkError(operation: "nl_socket_alloc", code: ENOMEM)
    }
    guard unsafe nl_connect(handle, family) == 0 else {
      let error = NetlinkError.last("socket(AF_NETLINK)")
      unsafe nl_socket_free(handle)
      throw error
    }
    let socket = unsafe NetlinkSocket(owning: handle, channel, input)
    try socket.talkToTheKernelOnly()
    return socket
  }

  private init(owning handle: OpaquePointer?, _ channel: TraceChannel, _ input: NetlinkInput) {
    unsafe self.handle = unsafe handle
    self.channel = channel
    self.input = input
    descriptor = unsafe handle.map { unsafe nl_socket_get_fd($0) } ?? -1
  }

  deinit {
    unsafe nl_socket_free(handle)
    unsafe buffer.deallocate()
  }

  /// Messages of other processes are refused (ECONNREFUSED at the sender), so that no sender has to be looked at.
  private func talkToTheKernelOnly() throws(NetlinkError) {
    // Port 0.
    var kernel = sockaddr_nl()
    kernel.nl_family = sa_family_t(AF_NETLINK)
    let result = unsafe withUnsafePointer(to: &kernel) { kernel in
      unsafe kernel.withMemoryRebound(to: sockaddr.self, capacity: 1) { kernel in
        unsafe connect(descriptor, kernel, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    guard result == 0 else { throw .last("connect(AF_NETLINK)") }
  }

  func join(_ group: rtnetlink_groups) throws(NetlinkError) {
    try join(group: Int32(group.rawValue))
  }

  /// Of generic netlink the groups' numbers are known at run time only.
  func join(group number: Int32) throws(NetlinkError) {
    if case .replayed(let player) = input { return try player.perform(.join, on: channel) }
    guard unsafe nl_socket_add_membership(handle, number) == 0 else { throw failure(of: .join) }
  }

  func makeNonBlocking() throws(NetlinkError) {
    if input.isReplayed { return }
    guard unsafe nl_socket_set_nonblocking(handle) == 0 else { throw .last("fcntl(O_NONBLOCK)") }
  }

  /// The forced way needs CAP_NET_ADMIN; the other one is capped by net.core.rmem_max without a word.
  func setReceiveBuffer(bytes: Int) {
    var size = CInt(clamping: bytes)
    let length = socklen_t(MemoryLayout<CInt>.size)
    guard unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &size, length) != 0 else { return }
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, length)
  }

  func setReceiveTimeout(seconds: Int) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Lets the kernel honour the filters of a request instead of ignoring what it does not know.
  ///
  /// - Returns: false where the kernel can not (before Linux 4.20). In a replay nobody is asked.
  func enableStrictChecking() -> Bool {
    if input.isReplayed { return true }
    var one: CInt = 1
    return unsafe setsockopt(
      descriptor, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, socklen_t(MemoryLayout<CInt>.size)) == 0
  }

  /// Replaces the filter. If the kernel refuses it, or has no room for it (net.core.optmem_max), everything passes.
  ///
  /// - Returns: whether the filter is in place.
  func attach(_ program: [sock_filter]) -> Bool {
    if case .replayed(let player) = input { return (try? player.perform(.attach, on: channel)) != nil }
    if setFilter(program) { return true }
    // Old and new count together until the old one is gone; kernels before 6.8 have room for ten addresses or so. The old
    // one must not stay: it would keep back what the new one lets pass.
    var nothing: CInt = 0
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &nothing, socklen_t(MemoryLayout<CInt>.size))
    if setFilter(program) { return true }
    _ = failure(of: .attach)
    return false
  }

  private func setFilter(_ program: [sock_filter]) -> Bool {
    var program = program
    let count = UInt16(program.count)
    return unsafe program.withUnsafeMutableBufferPointer { instructions in
      var fprog = unsafe sock_fprog(len: count, filter: instructions.baseAddress)
      return unsafe setsockopt(
        descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &fprog, socklen_t(MemoryLayout<sock_fprog>.size)) == 0
    }
  }

  func send(_ message: borrowing [UInt8]) throws(NetlinkError) {
    if case .replayed(let player) = input { return try player.perform(.send, on: channel) }
    let sent = unsafe message.withUnsafeBytes { unsafe Glibc.send(descriptor, $0.baseAddress, $0.count, 0) }
    guard sent == message.count else { throw failure(of: .send) }
  }

  /// Of the call that just failed. A trace has it too.
  private func failure(of call: TraceCall) -> NetlinkError {
    let error = NetlinkError.last(call.operation)
    if case .recorded(let recorder) = input { recorder.write(call, failedWith: error.code, on: channel) }
    return error
  }

  /// The messages of the last ``receive()``.
  func withMessages<Result>(_ count: Int, _ body: (RawSpan) -> Result) -> Result {
    unsafe body(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes)
  }

  func receive() throws(NetlinkError) -> Received {
    switch input {
    case .kernel: return try read()
    case .recorded(let recorder):
      let received = try read()
      switch received {
      case .messages(let count): withMessages(count) { recorder.write($0, from: channel) }
      case .wouldBlock: recorder.writeEnd(of: channel)
      case .overrun: recorder.writeOverrun(of: channel)
      }
      return received
    case .replayed(let player):
      switch try player.receive(on: channel) {
      case .datagram(let bytes):
        unsafe buffer.copyBytes(from: bytes.prefix(buffer.count))
        return unsafe .messages(min(bytes.count, buffer.count))
      case .end: return .wouldBlock
      case .overrun: return .overrun
      case .failed(let call, let code): throw NetlinkError(operation: call.operation, code: code)
      }
    }
  }

  private func read() throws(NetlinkError) -> Received {
    while true {
      // With MSG_TRUNC the result is the message's own length, also where it did not fit.
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_TRUNC))
      if count < 0 {
        switch errno {
        case EINTR: continue
        case EAGAIN: return .wouldBlock
        case ENOBUFS: return .overrun
        default: throw failure(of: .receive)
        }
      }
      return unsafe count > buffer.count ? .overrun : .messages(count)
    }
  }
}
