import CLinux
import Glibc
import NetwatchEventLoop

/// Connects to a service, as a client.
enum ServiceConnection {
  /// - Returns: nil where nobody listens, or not for us.
  static func open(_ address: ServiceAddress) -> FileDescriptor? {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return nil }
    let descriptor = FileDescriptor(owning: socket)
    // On a Unix socket this is done at once, or refused: EAGAIN says that too many wait.
    let result = try? unsafe address.withSocketAddress { unsafe connect(socket, $0, $1) }
    if result == 0 { return consume descriptor }
    return nil
  }

  /// Whether the service lives in our network namespace: the file of a socket is found from any, and what is reachable
  /// there is not what is reachable here. Yes where that can not be told, as of another user's process.
  static func sharesNetwork(_ descriptor: CInt) -> Bool {
    var (ours, theirs) = (stat(), stat())
    guard let process = peer(of: descriptor)?.process, unsafe stat("/proc/self/ns/net", &ours) == 0,
      unsafe stat("/proc/\(process)/ns/net", &theirs) == 0
    else { return true }
    return ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev
  }

  /// The process that listens.
  static func owner(of address: ServiceAddress) -> CInt? {
    guard let descriptor = open(address) else { return nil }
    return peer(of: descriptor.rawValue)?.process
  }

  /// The process that made or connected the other end, and its user.
  static func peer(of descriptor: CInt) -> peer_credentials? {
    var peer = peer_credentials()
    var length = socklen_t(MemoryLayout<peer_credentials>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer : nil
  }
}

extension ServiceStatistics {
  /// Asks the service that a client would find; nil where there is none, or it does not answer within a second.
  package static func ofRunningService(_ addresses: [ServiceAddress] = ServiceAddress.candidates) -> ServiceStatistics?
  {
    guard let loop = try? EventLoop() else { return nil }
    var statistics: ServiceStatistics?
    for address in addresses {
      guard let descriptor = ServiceConnection.open(address) else { continue }
      let client = try? EventClient(
        descriptor, on: loop,
        handlers: .init(
          record: { _ in },
          answer: { [unowned loop] answer in
            statistics = answer["stats"].map(ServiceStatistics.init)
            if statistics != nil { loop.stop() }
          }, lost: { [unowned loop] in loop.stop() }))
      client?.send("{\"events\":false}\n{\"stats\":1}\n")
      loop.schedule(at: KernelClock.monotonic.now + .seconds(1)) { [unowned loop] in loop.stop() }
      try? loop.run()
      withExtendedLifetime(client) {}
      return statistics
    }
    return nil
  }

  private init(_ value: JSONValue) {
    func number(_ key: String) -> UInt64 { UInt64(clamping: value[key]?.integer ?? 0) }
    self.init(
      transitions: number("transitions"), netlinkOverruns: number("netlink_overruns"),
      subscribers: Int(clamping: number("subscribers")))
  }
}
