import CLibCAres
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// One request to c-ares, which reads the system's configuration anew for each. This is the only file that uses the library.
///
/// Each request has its own channel. c-ares cannot cancel one of several requests on a channel, or read its configuration
/// again. Its newer versions keep responses even after the network has changed.
@safe final class AresChannel {
  /// The object that c-ares calls back into. It outlives the channel, which makes a last call while it is destroyed.
  private final class Context {
    let name: HostName
    let socketChanged: (CInt, EventLoop.Readiness) -> Void
    var outcome: Resolution.Outcome?
    /// Whether a socket was used. If not, no server was asked, and the answer is from the hosts file.
    var hasSocket = false

    init(_ name: HostName, _ socketChanged: @escaping (CInt, EventLoop.Readiness) -> Void) {
      self.name = name
      self.socketChanged = socketChanged
    }

    static func at(_ pointer: UnsafeMutableRawPointer) -> Context {
      unsafe Unmanaged<Context>.fromOpaque(pointer).takeUnretainedValue()
    }

    var pointer: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }
  }

  /// The number of attempts. With one server, they wait 1, 2 and 4 eighths of the whole time, so that c-ares ends by itself,
  /// with what it knows of one family. All attempts use one socket and one request number, so a response to any of them counts.
  private static let tries: CInt = 3
  private static let waits = 8

  private let channel: OpaquePointer
  private let context: Context

  /// Creates a channel.
  ///
  /// - Parameters:
  ///   - isAlone: Whether only the hosts file is read, and no server is asked.
  ///   - socketChanged: The closure that is called from within the other methods with the operations that a socket waits for.
  ///     If there are none, the socket is about to be closed.
  init(
    for name: HostName, _ configuration: ResolverConfiguration, inHostsFile isAlone: Bool,
    socketChanged: @escaping (CInt, EventLoop.Readiness) -> Void
  ) throws(ResolverError) {
    let context = Context(name, socketChanged)
    var options = unsafe ares_options()
    unsafe options.timeout = max(1, CInt(clamping: (configuration.timeout / Self.waits).nanoseconds / 1_000_000))
    unsafe options.tries = Self.tries
    unsafe options.resolvconf_path = strdup(configuration.resolvConf)
    defer { unsafe free(options.resolvconf_path) }
    unsafe options.sock_state_cb_data = context.pointer
    unsafe options.sock_state_cb = { pointer, socket, isReading, isWriting in
      guard let pointer = unsafe pointer else { return }
      let context = unsafe Context.at(pointer)
      context.hasSocket = true
      var interest: EventLoop.Readiness = []
      if isReading != 0 { interest.insert(.readable) }
      if isWriting != 0 { interest.insert(.writable) }
      context.socketChanged(socket, interest)
    }
    var mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_RESOLVCONF | ARES_OPT_SOCK_STATE_CB
    if isAlone {
      unsafe options.lookups = strdup("f")
      mask |= ARES_OPT_LOOKUPS
    }
    defer { unsafe free(options.lookups) }
    var channel: OpaquePointer?
    let status = unsafe ares_init_options(&channel, &options, mask)
    guard status == 0, let channel = unsafe channel else {
      throw ResolverError(status: status, of: "ares_init_options", for: name)
    }
    unsafe self.channel = channel
    self.context = context
    // Where a program may not bind sockets, c-ares uses them as they are; whoever sets this has found out.
    if let interface = configuration.interface { unsafe ares_set_local_dev(channel, interface.text) }
    try use(configuration.servers)
  }

  deinit { unsafe ares_destroy(channel) }

  private func use(_ servers: [ResolverConfiguration.Server]) throws(ResolverError) {
    guard !servers.isEmpty else { return }
    let list = servers.map { NetworkTarget.address($0.address, port: $0.port).description }.joined(separator: ",")
    let status = unsafe ares_set_servers_ports_csv(channel, list)
    guard status == 0 else { throw ResolverError(status: status, of: "ares_set_servers_ports_csv", for: context.name) }
  }

  /// The outcome of the request; nil while it runs.
  var outcome: Resolution.Outcome? { context.outcome }

  /// The time from now until ``process(readable:writable:)`` is due even if no socket is ready.
  var patience: Duration? {
    var time = timeval()
    guard unsafe ares_timeout(channel, nil, &time) != nil else { return nil }
    // The time is rounded down. A call that is a moment too early would be repeated until the time has come.
    return .seconds(time.tv_sec) + .microseconds(time.tv_usec) + .milliseconds(1)
  }

  /// Requests the addresses of both families. The outcome may be known when this returns.
  ///
  /// - Parameter name: The name in ASCII.
  func ask(for name: String) {
    var hints = ares_addrinfo_hints(ai_flags: 0, ai_family: AF_UNSPEC, ai_socktype: 0, ai_protocol: 0)
    unsafe ares_getaddrinfo(
      channel, name, nil, &hints,
      { pointer, status, _, list in
        defer { unsafe ares_freeaddrinfo(list) }
        guard let pointer = unsafe pointer else { return }
        let context = unsafe Context.at(pointer)
        context.outcome =
          if status == 0, let resolution = unsafe Resolution(list?.pointee, isFromServer: context.hasSocket) {
            .success(resolution)
          } else {
            .failure(ResolverError(status: status, of: "ares_getaddrinfo", for: context.name))
          }
      }, context.pointer)
  }

  func process(readable: CInt? = nil, writable: CInt? = nil) {
    unsafe ares_process_fd(channel, readable ?? -1, writable ?? -1)
  }

  /// Ends the request with what is known by now: one of the families may have its addresses.
  func giveUp() {
    guard context.outcome == nil else { return }
    // Since version 1.24, a cancelled request loses the addresses of the other family. A request that has no server left keeps
    // them. Earlier versions refuse to take the servers away, and keep the addresses of a cancelled request.
    unsafe ares_set_servers(channel, nil)
    unsafe ares_cancel(channel)
    if case .success? = context.outcome { return }
    let error = ResolverError(status: ResolverError.cancelled, of: "ares_getaddrinfo", for: context.name)
    context.outcome = .failure(error)
  }
}

extension Resolution {
  /// Nil if there is no address.
  fileprivate init?(_ list: ares_addrinfo?, isFromServer: Bool) {
    guard let list = unsafe list else { return nil }
    var addresses: [InternetAddress] = []
    var lifetime = CInt.max
    var node = unsafe list.nodes
    while addresses.count < Self.mostAddresses, let current = unsafe node?.pointee {
      if let address = unsafe InternetAddress(current) {
        if !addresses.contains(address) { addresses.append(address) }
        lifetime = unsafe min(lifetime, current.ai_ttl)
      }
      unsafe node = current.ai_next
    }
    var alias = unsafe list.cnames
    while let current = unsafe alias?.pointee {
      lifetime = unsafe min(lifetime, current.ttl)
      unsafe alias = current.next
    }
    guard !addresses.isEmpty else { return nil }
    // RFC 2181, section 8: a time with its first bit set means zero. c-ares 1.18 reports it as negative, 1.34 as the largest
    // number.
    let isValid = lifetime > 0 && lifetime < .max
    self.init(addresses: addresses, timeToLive: isFromServer ? .seconds(isValid ? lifetime : 0) : nil)
  }
}

extension InternetAddress {
  /// Nil for other families, and for an address that is too short for its family.
  fileprivate init?(_ node: ares_addrinfo_node) {
    guard let bytes = unsafe UnsafeRawPointer(node.ai_addr) else { return nil }
    let length = unsafe Int(node.ai_addrlen)
    switch unsafe node.ai_family {
    case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
      self = unsafe .v4(UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
    case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
      var address = unsafe bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      let bits = unsafe withUnsafeBytes(of: &address) { unsafe $0.loadUnaligned(as: UInt128.self) }
      self = .v6(UInt128(bigEndian: bits))
    default: return nil
    }
  }
}

extension ResolverError {
  fileprivate static let cancelled = number(ARES_ECANCELLED)

  fileprivate init(status: CInt, of operation: String, for name: HostName) {
    let message = unsafe String(cString: ares_strerror(status))
    self.init(kind: Self.kind(status), name: name.text, operation: operation, code: status, message: message)
  }

  private static func kind(_ status: CInt) -> Kind {
    switch status {
    case number(ARES_ENOTFOUND), number(ARES_ENONAME): .noSuchName
    // A response without any address has the status of a success.
    case number(ARES_ENODATA), number(ARES_SUCCESS): .noAddress
    case number(ARES_ETIMEOUT), cancelled: .timedOut
    // Version 1.18 reports a refused connection, whatever the error of the servers was.
    case number(ARES_ECONNREFUSED), number(ARES_ESERVFAIL), number(ARES_EREFUSED), number(ARES_ENOTIMP): .noServer
    default: .other
    }
  }

  /// The codes are plain numbers up to version 1.22, and cases of an enumeration since then.
  private static func number(_ status: CInt) -> CInt { status }
  private static func number<Status: RawRepresentable>(_ status: Status) -> CInt where Status.RawValue: BinaryInteger {
    CInt(truncatingIfNeeded: status.rawValue)
  }
}
