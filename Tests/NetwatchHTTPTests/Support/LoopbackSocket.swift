import Glibc
import NetwatchTestSupport

/// A port of 127.0.0.1 that the kernel gives to nobody else while this object exists. No socket listens on it, unless a
/// server of the test does.
final class LoopbackPort: Sendable {
  let number: UInt16
  private let descriptor: CInt

  init() throws { (descriptor, number) = try LoopbackSocket.bound() }

  deinit { close(descriptor) }
}

/// Functions that make TCP sockets of 127.0.0.1.
enum LoopbackSocket {
  /// Returns a socket that listens on a free port of 127.0.0.1, and the port.
  static func listen() throws -> (descriptor: CInt, port: UInt16) {
    let (descriptor, port) = try bound()
    guard Glibc.listen(descriptor, 128) == 0 else { throw TestFailure("cannot listen: \(errno)") }
    return (descriptor, port)
  }

  /// Returns a socket that is bound to a free port of 127.0.0.1, and the port. The socket has SO_REUSEADDR: a server
  /// that also sets it may listen on this port while the socket here does not listen.
  fileprivate static func bound() throws -> (descriptor: CInt, port: UInt16) {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw TestFailure("cannot make a socket: \(errno)") }
    var yes: CInt = 1
    unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    guard isBound else { throw TestFailure("cannot bind: \(errno)") }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Returns the port of one end of a connection; 0 if the socket is not connected.
  ///
  /// - Parameters:
  ///   - descriptor: The socket.
  ///   - end: `getsockname` for the socket's own end, or `getpeername` for the other one.
  static func port(
    of descriptor: CInt, _ end: (CInt, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
  ) -> UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isKnown = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe end(descriptor, $0, &length) == 0 }
    }
    return isKnown && address.sin_family == sa_family_t(AF_INET) ? UInt16(bigEndian: address.sin_port) : 0
  }

  static func connect(to port: UInt16) -> CInt? {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    address.sin_port = port.bigEndian
    let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    if isConnected { return descriptor }
    close(descriptor)
    return nil
  }
}
