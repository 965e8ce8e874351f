import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The sockets that libcurl waits for, watched by the loop.
///
/// libcurl stops waiting for a connection's socket after each request, and waits for it again with the next one. Therefore a
/// socket stays watched until an event arrives that libcurl does not wait for, or until libcurl closes it. This saves two
/// system calls for each request.
@safe final class CurlSockets {
  /// The `errno` of socket(2) or bind(2).
  typealias Failure = (error: CInt, isOfBinding: Bool)

  /// The most connections of which it is remembered that their servers are leaving.
  private static let mostLeft = 64

  private final class Watch {
    let registration: EventLoop.Registration
    /// Whether the socket was opened here. libcurl has others, which the process's children may inherit: they are never kept.
    let isOwn: Bool
    /// The events that the kernel was asked for.
    var interest: EventLoop.Readiness
    /// Whether libcurl waits for the socket.
    var isWanted = true
    /// The address of the handle that has begun to wait most recently.
    var waiter: UInt
    /// Whether the socket's connection is being made, and libcurl has another address if that fails.
    var isReplaceable: Bool
    /// Whether libcurl has waited for the socket again. It then belongs to an established connection, which libcurl does not
    /// close without a notice. A connection that is still being made is closed without one, and its number may come back with
    /// another socket.
    var isEstablished = false

    init(
      _ registration: EventLoop.Registration, for interest: EventLoop.Readiness, by waiter: UInt, isOwn: Bool,
      isReplaceable: Bool
    ) {
      self.registration = registration
      self.isOwn = isOwn
      self.isReplaceable = isReplaceable
      self.interest = interest
      self.waiter = waiter
    }
  }

  private let loop: EventLoop
  /// The address from which connections leave; nil if the kernel chooses.
  private let localAddress: InternetAddress?
  private let serviceType: HTTPServiceType
  /// The error of the last socket that could not be made, or not be bound to the address. Nil before there is one.
  private(set) var failure: Failure?
  private let act: (CInt, EventLoop.Readiness) -> Void
  private var watches: [CInt: Watch] = [:]
  /// The watch that was looked up last, which is usually the next one.
  private var last: (socket: CInt, watch: Watch)?
  /// The sockets that were opened here.
  private var connections: Set<CInt> = []
  /// The sockets of the connections over which a request of HTTP/1 was sent.
  private var known: [Connection: CInt] = [:]
  /// The HTTP/2 connections that servers are leaving, also after they are closed: their requests end later.
  private var left: [(connection: Connection, last: UInt32)] = []
  /// The sockets that libcurl does not wait for yet, if it has another address for their names.
  private var replaceable: Set<CInt> = []
  /// The peers of sockets that libcurl does not wait for yet. Their local addresses are not known before.
  private var fresh: [CInt: SocketAddress] = [:]
  /// The connections whose ends have become known within the present call of libcurl.
  private var begun: [(socket: CInt, connection: Connection)] = []
  /// Returns whether the name of the peer has another address of the same family, which libcurl tries next. Most versions do
  /// so only after the attempt before has ended.
  var hasNextAddress: (_ peer: SocketAddress) -> Bool = { _ in false }
  /// Called with each connection that begins, once both of its ends are known. Nil: connections are not reported.
  var onOpened: ((CInt, Connection) -> Void)?
  /// Called before a connection's socket is closed.
  var onClosed: ((CInt) -> Void)?

  /// - Parameters:
  ///   - localAddress: The address from which connections leave; nil if the kernel chooses.
  ///   - act: Called when an event has arrived that libcurl waits for.
  init(
    on loop: EventLoop, from localAddress: InternetAddress? = nil, as serviceType: HTTPServiceType = .standard,
    _ act: @escaping (CInt, EventLoop.Readiness) -> Void
  ) {
    self.loop = loop
    self.serviceType = serviceType
    self.localAddress = localAddress
    self.act = act
  }

  deinit { for watch in watches.values { loop.remove(watch.registration) } }

  static func at(_ pointer: UnsafeMutableRawPointer) -> CurlSockets {
    unsafe Unmanaged<CurlSockets>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// - Parameter peer: The address of the other end; nil if it is not an IP address.
  func open(_ family: CInt, _ type: CInt, _ transport: CInt, to peer: SocketAddress?) -> CInt {
    let socket = NetwatchLibC.socket(family, type | CInt(SOCK_CLOEXEC.rawValue), transport)
    guard socket >= 0 else {
      failure = (errno, isOfBinding: false)
      return socket
    }
    // libcurl would look the address up as if it were a name, and ask the callback first.
    if let localAddress, let peer, !SocketAddress.bind(socket, to: localAddress, for: peer) {
      failure = (errno, isOfBinding: true)
      close(socket)
      return -1
    }
    if serviceType != .standard { mark(socket, family) }
    forget(socket)
    connections.insert(socket)
    if let peer, hasNextAddress(peer) {
      SocketAddress.giveUpSoon(socket)
      replaceable.insert(socket)
    }
    if onOpened != nil, let peer { fresh[socket] = peer }
    return socket
  }

  /// Marks the packets of a connection. A failure changes nothing but their rank.
  private func mark(_ socket: CInt, _ family: CInt) {
    func set(_ level: CInt, _ option: CInt, _ value: CInt) {
      _ = unsafe withUnsafePointer(to: value) {
        unsafe setsockopt(socket, level, option, $0, socklen_t(MemoryLayout<CInt>.size))
      }
    }
    // The two low bits are for congestion (ECN).
    if family == AF_INET6 { set(CInt(IPPROTO_IPV6), IPV6_TCLASS, serviceType.dscp << 2) }
    // Also for IPv4 addresses that are mapped to IPv6. It changes the priority, which is set after it.
    set(CInt(IPPROTO_IP), IP_TOS, serviceType.dscp << 2)
    set(SOL_SOCKET, SO_PRIORITY, serviceType.priority)
  }

  /// To be called before the socket is closed.
  func forget(_ socket: CInt) {
    replaceable.remove(socket)
    forgetEnds(of: socket)
    if connections.remove(socket) != nil, fresh.removeValue(forKey: socket) == nil {
      if let place = begun.firstIndex(where: { $0.socket == socket }) {
        begun.remove(at: place)
      } else {
        onClosed?(socket)
      }
    }
    remove(socket)
  }

  /// Ends connections at once. Those that libcurl has already closed are left alone.
  func abort(_ sockets: [CInt]) {
    for socket in sockets where connections.contains(socket) {
      forgetEnds(of: socket)
      SocketAddress.abort(socket)
    }
  }

  /// libcurl has called connect(2), so the local address is known.
  private func began(_ socket: CInt) {
    guard let peer = fresh[socket], let local = SocketAddress(localOf: socket) else { return }
    fresh[socket] = nil
    let connection = Connection(
      local: local.address, localPort: local.port, peer: peer.address, peerPort: peer.port, scope: peer.scope)
    begun.append((socket, connection))
  }

  /// Reports the connections that have begun. To be called after a call of libcurl: a report may end requests, which libcurl does
  /// not allow within.
  func reportBegun() {
    guard !begun.isEmpty else { return }
    let begun = begun
    self.begun = []
    for (socket, connection) in begun where connections.contains(socket) { onOpened?(socket, connection) }
  }

  /// - Parameter easy: The address of the handle that libcurl waits for.
  func watch(_ socket: CInt, for interest: EventLoop.Readiness, by easy: UInt) throws(SystemError) {
    if !fresh.isEmpty { began(socket) }
    if let watch = watch(of: socket) {
      do throws(SystemError) {
        watch.waiter = easy
        let isNews = !watch.isWanted && !watch.isEstablished
        if isNews || watch.interest != interest { try loop.change(watch.registration, to: interest) }
        if isNews { watch.isEstablished = true }
        watch.interest = interest
        watch.isWanted = true
        return
      } catch {
        // It is another socket with the same number.
        remove(socket)
      }
    }
    let registration = try loop.watch(socket, for: interest) { [unowned self] in happened(on: socket, $0) }
    watches[socket] = Watch(
      registration, for: interest, by: easy, isOwn: connections.contains(socket),
      isReplaceable: replaceable.remove(socket) != nil)
  }

  /// Takes note of the event that ends a connection attempt.
  ///
  /// - Returns: The address of the handle that connects. Nil if the event is another one, or no other address is left.
  func endAttempt(on socket: CInt) -> UInt? {
    guard let watch = watch(of: socket), watch.isReplaceable else { return nil }
    watch.isReplaceable = false
    return watch.waiter
  }

  /// Returns whether a socket that was opened here is still open.
  func isOpen(_ socket: CInt) -> Bool { connections.contains(socket) }

  private func watch(of socket: CInt) -> Watch? {
    if let last, last.socket == socket { return last.watch }
    guard let watch = watches[socket] else { return nil }
    last = (socket, watch)
    return watch
  }

  /// Takes note that libcurl does not wait for the socket any more.
  func letGo(_ socket: CInt) {
    if let watch = watch(of: socket), watch.isEstablished || watch.isOwn {
      watch.isWanted = false
    } else {
      remove(socket)
    }
  }

  /// Notes which of some sockets is that of a connection, before the first request is sent over it.
  func note(_ connection: Connection, of candidates: [CInt]) {
    known[connection] = candidates.first { socket in
      guard connections.contains(socket), let local = SocketAddress(localOf: socket),
        let peer = SocketAddress(peerOf: socket)
      else { return false }
      return local.address == connection.local && local.port == connection.localPort
        && peer.address == connection.peer && peer.port == connection.peerPort
    }
  }

  /// Notes that the server is leaving an HTTP/2 connection, of which it processes no later stream (GOAWAY).
  ///
  /// - Parameter last: The last stream. Nil: the connection is new.
  func wasLeft(_ connection: Connection, after last: UInt32?) {
    left.removeAll { $0.connection == connection }
    if let last { left.append((connection, last)) }
    if left.count > Self.mostLeft { left.removeFirst() }
  }

  /// Returns the last stream that the server of a connection processes. Nil if it is not leaving.
  func lastStream(of connection: Connection) -> UInt32? { left.last { $0.connection == connection }?.last }

  /// Returns the socket of a connection that was noted and is still open.
  func socket(for connection: Connection) -> CInt? { known[connection] }

  private func forgetEnds(of socket: CInt) { known = known.filter { $0.value != socket } }

  /// Returns whether bytes have arrived on a connection that nobody has read.
  func hasUnread(_ socket: CInt) -> Bool {
    var byte: UInt8 = 0
    return unsafe recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) > 0
  }

  private func happened(on socket: CInt, _ readiness: EventLoop.Readiness) {
    guard let watch = watch(of: socket), !watch.isWanted else { return act(socket, readiness) }
    // The transfer is paused, or there is none.
    remove(socket)
  }

  private func remove(_ socket: CInt) {
    if last?.socket == socket { last = nil }
    if let watch = watches.removeValue(forKey: socket) { loop.remove(watch.registration) }
  }
}
