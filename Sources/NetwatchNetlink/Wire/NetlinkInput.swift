import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// Where everything comes from that a monitor learns: the kernel, the kernel and into a trace, or a trace.
///
/// This is the only place that knows which of them it is. A trace is that of a source with one watcher.
@safe package struct NetlinkInput {
  /// A socket, as a trace calls it.
  package enum Channel: String, Hashable, Sendable, CaseIterable {
    /// The notifications of rtnetlink.
    case event
    /// The answers to what rtnetlink was asked.
    case reply
    /// The notifications of nl80211.
    case wirelessEvent = "wireless-event"
    /// The answers to what nl80211 was asked.
    case wirelessReply = "wireless-reply"
    /// The counters of links.
    case counters
  }

  /// A system call on a socket that the machine hears of when it fails.
  package enum Call: String, Hashable, Sendable, CaseIterable {
    case receive = "recv"
    case send = "send"
    case join = "join"
    case attach = "attach"

    /// The name of the call in errors.
    var operation: String {
      switch self {
      case .receive, .send: rawValue
      case .join: "setsockopt(NETLINK_ADD_MEMBERSHIP)"
      case .attach: "setsockopt(SO_ATTACH_FILTER)"
      }
    }
  }

  /// What made netwatch look at the kernel. Everything else that it reads follows from one of these.
  package enum Cause: Hashable, Sendable {
    /// The beginning, or an order to read everything again.
    case start
    /// A socket of events became readable.
    case turn(Channel)
    case timer(ReachabilityMachine.Timer)
    /// The machine was suspended.
    case resumed
    /// The addresses of the target's host, the best one first.
    case resolved([IPAddress])
    /// Nobody could be asked for them.
    case unresolved
    /// The counters of links are to be read.
    case sampling
    /// The signal of the WiFi network is to be read.
    case signal
    /// The TCP connections are to be looked at, for the quality of the link.
    case quality
    /// A DHCP client has written a lease.
    case leases
  }

  package enum Received: Hashable, Sendable {
    /// This many bytes of the buffer are messages.
    case messages(Int)
    case wouldBlock
    /// The kernel dropped messages. It says so once; what is queued stays readable.
    case overrun
  }

  /// Opens a socket of a netlink family (NETLINK_*) that only the kernel can send to; nil if there is no kernel to talk to.
  let open: (_ family: CInt) throws(NetlinkError) -> OpaquePointer?
  /// Does what `body` does on a socket, or what stands in its place.
  let perform: (Call, Channel, _ body: () throws(NetlinkError) -> Void) throws(NetlinkError) -> Void
  /// Reads one datagram from a descriptor into a buffer.
  let receive: (Channel, _ descriptor: CInt, UnsafeMutableRawBufferPointer) throws(NetlinkError) -> Received
  /// Waits, in microseconds.
  let pause: (UInt32) -> Void
  /// Begins what `body` does to hear of news by itself, which is part of a trace already.
  let follow: (_ body: () throws -> Void) throws -> Void
  /// The time of a cause. Has to be asked for before anything is read because of it.
  let moment: (Cause) -> Moment
  /// The namespaces that this process has of its own.
  let namespaces: () -> OwnNamespaces
  let traits: (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits
  /// Whether the DHCP lease of an address says that the network is metered. A trace has those alone that do.
  let lease: (_ link: String, _ index: Int32, _ address: IPAddress) -> Bool
  /// Gives what `list` finds, or what stands in its place; nil if not all connections could be listed. Of each, a trace has what
  /// the quality of a link follows from, and no address.
  let connections: (_ list: () -> [ConnectionFacts]?) -> [ConnectionFacts]?
  /// There is nothing more to replay, so whatever is concluded now has no ground.
  let isLost: () -> Bool
  /// Calls what it is given once, if nothing more can be recorded or replayed.
  package let onFailure: (@escaping (any Error) -> Void) -> Void
}

extension NetlinkInput {
  /// The kernel that this process runs on.
  package static var kernel: NetlinkInput {
    unsafe NetlinkInput(
      open: connect,
      perform: { _, _, body throws(NetlinkError) in try body() },
      receive: { _, descriptor, buffer throws(NetlinkError) in unsafe try read(descriptor, into: buffer) },
      pause: { time in _ = usleep(time) },
      follow: { body in try body() },
      moment: { .now(for: $0) },
      namespaces: { .ofThisProcess },
      traits: DeviceIdentity().traits(name:index:hardwareAddress:),
      lease: DHCPLeases().isMetered(link:index:address:),
      connections: { list in list() },
      isLost: { false },
      onFailure: { _ in })
  }

  private static func connect(_ family: CInt) throws(NetlinkError) -> OpaquePointer? {
    guard let handle = unsafe nl_socket_alloc() else {
      throw NetlinkError(operation: "nl_socket_alloc", code: ENOMEM)
    }
    guard unsafe nl_connect(handle, family) == 0 else {
      let error = NetlinkError.last("socket(AF_NETLINK)")
      unsafe nl_socket_free(handle)
      throw error
    }
    // Messages of other processes are refused (ECONNREFUSED at the sender), so that no sender has to be looked at. The
    // kernel is port 0.
    var kernel = sockaddr_nl()
    kernel.nl_family = sa_family_t(AF_NETLINK)
    let result = unsafe withUnsafePointer(to: &kernel) { kernel in
      unsafe kernel.withMemoryRebound(to: sockaddr.self, capacity: 1) { kernel in
        unsafe Glibc.connect(nl_socket_get_fd(handle), kernel, socklen_t(MemoryLayout<sockaddr_nl>.size))
      }
    }
    guard result == 0 else {
      let error = NetlinkError.last("connect(AF_NETLINK)")
      unsafe nl_socket_free(handle)
      throw error
    }
    return unsafe handle
  }

  private static func read(
    _ descriptor: CInt, into buffer: UnsafeMutableRawBufferPointer
  ) throws(NetlinkError) -> Received {
    while true {
      // With MSG_TRUNC the result is the message's own length, also where it did not fit.
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_TRUNC))
      if count < 0 {
        switch errno {
        case EINTR: continue
        case EAGAIN: return .wouldBlock
        case ENOBUFS: return .overrun
        default: throw .last(Call.receive.operation)
        }
      }
      return count > buffer.count ? .overrun : .messages(count)
    }
  }
}

/// When the kernel's message was read.
package struct Moment: Hashable, Sendable {
  /// On the monotonic clock, in nanoseconds.
  package let monotonic: Int64
  /// Since 1970 in UTC, in nanoseconds.
  package let wall: Int64
  /// How long the machine has been suspended since it was started, in nanoseconds. Read for samples of counters and of
  /// connections; 0 for all else.
  package var suspended: Int64 = 0

  package static var now: Moment {
    Moment(monotonic: KernelClock.monotonic.nanoseconds, wall: KernelClock.wall.nanoseconds)
  }

  static func now(for cause: NetlinkInput.Cause) -> Moment {
    var moment = now
    switch cause {
    case .sampling, .quality: moment.suspended = max(0, KernelClock.boot.nanoseconds - moment.monotonic)
    default: break
    }
    return moment
  }
}
