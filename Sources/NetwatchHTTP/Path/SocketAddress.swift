import Netwatch
import NetwatchLibC

/// An address and a port, as in the kernel's `sockaddr`.
struct SocketAddress: Hashable, Sendable {
  let address: InternetAddress
  let port: UInt16
  /// The index of the interface that a link-local IPv6 address belongs to. 0 for other addresses.
  var scope: Int32 = 0

  /// Nil for an address that is neither IPv4 nor IPv6.
  init?(_ pointer: UnsafePointer<sockaddr>) {
    let bytes = unsafe UnsafeRawPointer(pointer)
    switch unsafe CInt(pointer.pointee.sa_family) {
    case AF_INET:
      let name = unsafe bytes.loadUnaligned(as: sockaddr_in.self)
      address = .v4(UInt32(bigEndian: name.sin_addr.s_addr))
      port = UInt16(bigEndian: name.sin_port)
    case AF_INET6:
      let name = unsafe bytes.loadUnaligned(as: sockaddr_in6.self)
      let bits = unsafe withUnsafeBytes(of: name.sin6_addr) { unsafe $0.loadUnaligned(as: UInt128.self) }
      address = .v6(UInt128(bigEndian: bits))
      port = UInt16(bigEndian: name.sin6_port)
      scope = Int32(truncatingIfNeeded: name.sin6_scope_id)
    default: return nil
    }
  }

  /// The local address of a socket. Nil if it has none yet.
  init?(localOf socket: CInt) { unsafe self.init(of: socket, by: getsockname) }

  /// The address of the other end of a socket's connection. Nil if there is no connection.
  init?(peerOf socket: CInt) { unsafe self.init(of: socket, by: getpeername) }

  private init?(
    of socket: CInt, by ask: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) {
    var name = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let address = unsafe withUnsafeMutablePointer(to: &name) { name in
      unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe ask(socket, name, &length) == 0 ? SocketAddress(name) : nil
      }
    }
    guard let address, address.port != 0, !address.address.isUnspecified else { return nil }
    self = address
  }

  /// Makes a socket's connection leave from an address. The kernel chooses the port when it knows the peer, so that one port
  /// can serve connections to several peers (IP_BIND_ADDRESS_NO_PORT of ip(7)).
  ///
  /// - Parameter peer: The peer of the connection. If `address` is link-local, it gets the interface of the peer.
  /// - Returns: False on failure, with `errno` set.
  static func bind(_ socket: CInt, to address: InternetAddress, for peer: SocketAddress) -> Bool {
    guard address.family == peer.address.family else {
      errno = EAFNOSUPPORT
      return false
    }
    var isOn: CInt = 1
    unsafe setsockopt(
      socket, CInt(IPPROTO_IP), IP_BIND_ADDRESS_NO_PORT, &isOn, socklen_t(MemoryLayout<CInt>.size))
    switch address {
    case .v4(let bits):
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_addr.s_addr = bits.bigEndian
      return bind(socket, name)
    case .v6(let bits):
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_scope_id = address.isLinkLocal ? UInt32(truncatingIfNeeded: peer.scope) : 0
      unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { unsafe $0.storeBytes(of: bits.bigEndian, as: UInt128.self) }
      return bind(socket, name)
    }
  }

  private static func bind<Name>(_ socket: CInt, _ name: Name) -> Bool {
    unsafe withUnsafePointer(to: name) { name in
      unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe NetwatchLibC.bind(socket, name, socklen_t(MemoryLayout<Name>.size)) == 0
      }
    }
  }

  /// Makes a connection attempt without an answer end after three seconds instead of two minutes. The kernel repeats the first
  /// packet once, after one second, and waits two seconds more (TCP_SYNCNT of tcp(7)).
  static func giveUpSoon(_ socket: CInt) {
    var repetitions: CInt = 1
    unsafe setsockopt(
      socket, CInt(IPPROTO_TCP), TCP_SYNCNT, &repetitions, socklen_t(MemoryLayout<CInt>.size))
  }

  /// Ends a TCP connection at once. The peer is notified if possible, and unsent data is dropped.
  static func abort(_ socket: CInt) {
    var nobody = sockaddr()
    var length = socklen_t(MemoryLayout<sockaddr>.size)
    let isConnected = unsafe getpeername(socket, &nobody, &length) == 0
    nobody.sa_family = sa_family_t(AF_UNSPEC)
    _ = unsafe connect(socket, &nobody, socklen_t(MemoryLayout<sockaddr>.size))
    // A connection attempt reads the error. On an established connection, libcurl 7.88 must read an end: it treats a connection
    // with an error as usable.
    guard isConnected else { return }
    var error: CInt = 0
    length = socklen_t(MemoryLayout<CInt>.size)
    unsafe getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length)
    shutdown(socket, CInt(SHUT_RDWR))
  }
}
