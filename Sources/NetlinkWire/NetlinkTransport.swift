import CLibNetlink
import Glibc
import NetwatchEventLoop

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
  @safe package final class Detour {
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
  private let detour: Detour?

  /// The kernel that this process runs on.
  package static var kernel: NetlinkTransport { NetlinkTransport(hasKernel: true, detour: nil) }

  /// Returns a transport to the kernel that a recording follows.
  package static func recorded(_ detour: Detour) -> NetlinkTransport {
    NetlinkTransport(hasKernel: true, detour: detour)
  }

  /// Returns a transport without a kernel, as a trace replays it.
  package static func replayed(_ detour: Detour) -> NetlinkTransport {
    NetlinkTransport(hasKernel: false, detour: detour)
  }

  /// Opens a socket of a netlink family (NETLINK_*) that only the kernel can send to. Nil if there is no kernel.
  func open(_ family: CInt) throws(SystemError) -> OpaquePointer? {
    guard hasKernel else { return nil }
    return unsafe try Self.connect(family)
  }

  /// Performs `body` on a socket, or replays its result.
  func perform(_ call: Call, _ channel: Channel, _ body: () throws(SystemError) -> Void) throws(SystemError) {
    guard let detour else { return try body() }
    try detour.perform(call, channel, body)
  }

  /// Reads one datagram from a descriptor into a buffer.
  package func receive(
    _ channel: Channel, _ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Received {
    guard let detour else { return unsafe try Self.read(descriptor, into: buffer) }
    return unsafe try detour.receive(channel, descriptor, buffer)
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
        unsafe Glibc.connect(nl_socket_get_fd(handle), kernel, socklen_t(MemoryLayout<sockaddr_nl>.size))
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
