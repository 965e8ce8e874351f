import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// The source of all input of a monitor: the kernel, the kernel with recording to a trace, or a trace.
///
/// No other code knows which of these is used. A trace is recorded from a source with one watcher.
@safe package struct NetlinkInput {
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

  /// A system call on a socket whose failure affects the machine.
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
    var operation: String {
      switch self {
      case .receive, .send: rawValue
      case .join: "setsockopt(NETLINK_ADD_MEMBERSHIP)"
      case .attach: "setsockopt(SO_ATTACH_FILTER)"
      }
    }
  }

  /// The reason why netwatch reads from the kernel. Everything else that it reads follows from one of these.
  package enum Cause: Hashable, Sendable {
    /// The beginning, or a request to read everything again.
    case start
    /// A socket for events became readable.
    case turn(Channel)
    /// A timer of the machine fired.
    case timer(ReachabilityMachine.Timer)
    /// The machine was suspended.
    case resumed
    /// The addresses of the target's host, the best one first.
    case resolved([IPAddress])
    /// No name server could be asked for the addresses.
    case unresolved
    /// It is time to read the counters of links.
    case sampling
    /// It is time to read the signal of the WiFi network.
    case signal
    /// It is time to list the TCP connections, for the quality of the link.
    case quality
    /// A DHCP client has written a lease.
    case leases
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

  /// The calls that each event needs, as a trace records or replays them.
  @safe final class Detour {
    typealias Perform = (Call, Channel, _ body: () throws(SystemError) -> Void) throws(SystemError) -> Void
    typealias Receive = (Channel, _ descriptor: CInt, UnsafeMutableRawBufferPointer) throws(SystemError) -> Received

    let perform: Perform
    let receive: Receive
    let moment: (Cause) -> Moment
    let isLost: () -> Bool

    init(
      perform: @escaping Perform, receive: @escaping Receive, moment: @escaping (Cause) -> Moment,
      isLost: @escaping () -> Bool = { false }
    ) {
      self.perform = perform
      unsafe self.receive = unsafe receive
      self.moment = moment
      self.isLost = isLost
    }
  }

  /// Opens a socket of a netlink family (NETLINK_*) that only the kernel can send to. Nil if there is no kernel, as in a
  /// replay.
  let open: (_ family: CInt) throws(SystemError) -> OpaquePointer?
  /// Waits for a time in microseconds.
  let pause: (UInt32) -> Void
  /// Performs `body`, which starts to follow news on the loop. A replay does not, because the trace already has the news.
  let follow: (_ body: () throws -> Void) throws -> Void
  /// Returns the namespaces that belong to this process alone.
  let namespaces: () -> OwnNamespaces
  let traits: (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits
  /// Returns whether the DHCP lease of an address marks the network as metered. A trace has records only of those that do.
  let lease: (_ link: String, _ index: Int32, _ address: IPAddress) -> Bool
  /// Returns the connections that `list` finds, or those of a trace; nil if the list is incomplete. A trace has only the
  /// numbers that the quality of a link is calculated from, and no address.
  let connections: (_ list: () -> [ConnectionFacts]?) -> [ConnectionFacts]?
  /// What a trace does in place of the calls that each event needs. Nil for the kernel: an event that comes after a long time
  /// waits for memory at each call through a closure.
  let detour: Detour?
  /// Sets the closure that is called once if nothing more can be recorded or replayed.
  package let onFailure: (@escaping (any Error) -> Void) -> Void
}

extension NetlinkInput {
  /// Performs `body` on a socket, or replays its result.
  func perform(_ call: Call, _ channel: Channel, _ body: () throws(SystemError) -> Void) throws(SystemError) {
    guard let detour else { return try body() }
    try detour.perform(call, channel, body)
  }

  /// Reads one datagram from a descriptor into a buffer.
  func receive(
    _ channel: Channel, _ descriptor: CInt, _ buffer: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> Received {
    guard let detour else { return unsafe try Self.read(descriptor, into: buffer) }
    return unsafe try detour.receive(channel, descriptor, buffer)
  }

  /// Returns the time of a cause. It must be called before anything is read because of that cause.
  func moment(_ cause: Cause) -> Moment { detour?.moment(cause) ?? .now(for: cause) }

  /// Returns whether the trace is at its end, so that further conclusions would have no basis.
  func isLost() -> Bool { detour?.isLost() ?? false }

  /// The input from the kernel that this process runs on.
  package static var kernel: NetlinkInput {
    unsafe NetlinkInput(
      open: connect,
      pause: { time in _ = usleep(time) },
      follow: { body in try body() },
      namespaces: { .ofThisProcess },
      traits: DeviceIdentity().traits(name:index:hardwareAddress:),
      lease: DHCPLeases().isMetered(link:index:address:),
      connections: { list in list() },
      detour: nil,
      onFailure: { _ in })
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

/// The time at which the kernel's message was read.
package struct Moment: Hashable, Sendable {
  /// The time of the monotonic clock, in nanoseconds.
  package let monotonic: Int64
  /// The time of the wall clock, in nanoseconds since 1970 in UTC.
  package let wall: Int64
  /// The total time that the machine has been suspended since its start, in nanoseconds. It is read for samples of counters and
  /// of connections, and 0 otherwise.
  package var suspended: Int64 = 0

  /// The current time.
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
