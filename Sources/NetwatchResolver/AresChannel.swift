import CLibCAres
import Glibc
import Netwatch
import NetwatchEventLoop

/// One question to c-ares, which reads the system's configuration for it anew. The one file that sees the library.
///
/// A channel a question: c-ares cannot give up one of several, nor read its configuration again, and its newer versions
/// keep answers for longer than a change of network lasts.
@safe final class AresChannel {
  /// What c-ares calls back into. It outlives the channel, which calls once more while it is destroyed.
  private final class Context {
    let name: HostName
    let socketChanged: (CInt, EventLoop.Readiness) -> Void
    var outcome: Resolution.Outcome?
    /// Nobody else was asked where it stays false: the answer is from the hosts file.
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

  /// Waits of 1, 2 and 4 eighths of the whole time, where there is one server: c-ares comes to an end by itself, with what
  /// it knows of one family. All tries go out from one socket with one number, so an answer to any of them is one.
  private static let tries: CInt = 3
  private static let waits = 8

  private let channel: OpaquePointer
  private let context: Context

  /// - Parameters:
  ///   - isAlone: the hosts file is asked, and no server.
  ///   - socketChanged: called from within the other methods with what a socket waits for. Empty: the socket is
  ///     about to be closed.
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
    try use(configuration.servers)
  }

  deinit { unsafe ares_destroy(channel) }

  private func use(_ servers: [ResolverConfiguration.Server]) throws(ResolverError) {
    guard !servers.isEmpty else { return }
    let list = servers.map { NetworkTarget.address($0.address, port: $0.port).description }.joined(separator: ",")
    let status = unsafe ares_set_servers_ports_csv(channel, list)
    guard status == 0 else { throw ResolverError(status: status, of: "ares_set_servers_ports_csv", for: context.name) }
  }

  /// What has come of the question; nil as long as it is asked.
  var outcome: Resolution.Outcome? { context.outcome }

  /// When ``process(readable:writable:)`` is due though no socket is ready, from now.
  var patience: Duration? {
    var time = timeval()
    guard unsafe ares_timeout(channel, nil, &time) != nil else { return nil }
    // It is rounded down: what comes a moment too early is called again and again until the time has come.
    return .seconds(time.tv_sec) + .microseconds(time.tv_usec) + .milliseconds(1)
  }

  /// Asks for the addresses of both families. The answer may be there at once.
  /// - Parameter name: in ASCII.
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

  /// Ends the question with what is known by now: one of the families may have its addresses.
  func giveUp() {
    unsafe ares_cancel(channel)
    let error = ResolverError(status: ResolverError.cancelled, of: "ares_getaddrinfo", for: context.name)
    context.outcome = context.outcome ?? .failure(error)
  }
}

extension Resolution {
  /// Nil where there is no address.
  fileprivate init?(_ list: ares_addrinfo?, isFromServer: Bool) {
    guard let list = unsafe list else { return nil }
    var addresses: [IPAddress] = []
    var lifetime = CInt.max
    var node = unsafe list.nodes
    while addresses.count < Self.mostAddresses, let current = unsafe node?.pointee {
      if let address = unsafe IPAddress(current) {
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
    // RFC 2181, section 8: a time with its first bit set means zero. c-ares 1.18 reports it as negative, 1.34 as the largest number.
    let isValid = lifetime > 0 && lifetime < .max
    self.init(addresses: addresses, timeToLive: isFromServer ? .seconds(isValid ? lifetime : 0) : nil)
  }
}

extension IPAddress {
  /// Nil for other families, and for an address that is shorter than its family's.
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
    // An answer that has no address in it is called a success.
    case number(ARES_ENODATA), number(ARES_SUCCESS): .noAddress
    case number(ARES_ETIMEOUT), cancelled: .timedOut
    // Version 1.18 says that the connection was refused, whatever it was that every server has said.
    case number(ARES_ECONNREFUSED), number(ARES_ESERVFAIL), number(ARES_EREFUSED), number(ARES_ENOTIMP): .noServer
    default: .other
    }
  }

  /// Plain numbers up to version 1.22, the cases of an enumeration from then on.
  private static func number(_ status: CInt) -> CInt { status }
  private static func number<Status: RawRepresentable>(_ status: Status) -> CInt where Status.RawValue: BinaryInteger {
    CInt(truncatingIfNeeded: status.rawValue)
  }
}
