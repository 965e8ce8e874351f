import Glibc
import Netwatch
import NetwatchEventLoop

/// Sends a gateway an empty datagram, so that the kernel checks whether the gateway is there. A gateway that refuses the
/// datagram is alive.
///
/// The port is 9, whose data is discarded (RFC 863). The object belongs to the thread of its loop.
final class GatewayNudge {
  private static let port: UInt16 = 9

  private let gateway: Neighbour
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let refused: () -> Void
  private var registration: EventLoop.Registration?

  /// Opens and connects the socket.
  ///
  /// - Parameter refused: The closure that is called when the gateway has refused a datagram.
  /// - Throws: A `SystemError` if the kernel has no route to the gateway, which proves nothing.
  init(to gateway: Neighbour, on loop: EventLoop, refused: @escaping () -> Void) throws(SystemError) {
    self.gateway = gateway
    self.loop = loop
    self.refused = refused
    let family = gateway.address.family == .ipv4 ? AF_INET : AF_INET6
    descriptor = try .result(
      of: "socket",
      socket(family, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    bindToLink()
    try connect()
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in readAnswer() }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Sends one empty datagram.
  func send() {
    // The error of an earlier datagram is read when the loop reports it.
    _ = Glibc.send(descriptor.rawValue, nil, 0, CInt(MSG_NOSIGNAL))
  }

  /// Binds the socket to the link, because a VPN may have routes for all addresses. If this is not permitted, before Linux 5.7,
  /// the routes decide.
  private func bindToLink() {
    var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard unsafe if_indextoname(UInt32(bitPattern: gateway.interfaceIndex), &name) != nil else { return }
    unsafe setsockopt(descriptor.rawValue, SOL_SOCKET, SO_BINDTODEVICE, &name, socklen_t(name.count))
  }

  private func connect() throws(SystemError) {
    let status: CInt
    switch gateway.address {
    case .v4(let bits):
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = Self.port.bigEndian
      name.sin_addr.s_addr = bits.bigEndian
      status = connect(name)
    case .v6(let bits):
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_port = Self.port.bigEndian
      name.sin6_scope_id = UInt32(bitPattern: gateway.interfaceIndex)
      unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { unsafe $0.storeBytes(of: bits.bigEndian, as: UInt128.self) }
      status = connect(name)
    }
    guard status == 0 else { throw .last("connect") }
  }

  private func connect<Name>(_ name: Name) -> CInt {
    unsafe withUnsafePointer(to: name) { name in
      unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe Glibc.connect(descriptor.rawValue, name, socklen_t(MemoryLayout<Name>.size))
      }
    }
  }

  /// Reads the pending error: the refusal of the gateway, or the kernel's error that it is not there.
  private func readAnswer() {
    var byte: UInt8 = 0
    while true {
      let count = unsafe recv(descriptor.rawValue, &byte, 1, 0)
      if count < 0, errno == ECONNREFUSED { return refused() }
      // EHOSTUNREACH and similar errors are cleared by reading them.
      if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { return }
      if count < 0, errno != EINTR { return }
    }
  }
}
