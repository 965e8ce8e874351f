import Glibc
import NetwatchTestSupport

/// A port of 127.0.0.1 that nobody else is given while this lives. Nobody listens on it either, unless a server of the test does.
final class LoopbackPort: Sendable {
  let number: UInt16
  private let descriptor: CInt

  init() throws { (descriptor, number) = try LoopbackSocket.bound() }

  deinit { close(descriptor) }
}

enum LoopbackSocket {
  /// Listens on a free port of 127.0.0.1.
  static func listen() throws -> (descriptor: CInt, port: UInt16) {
    let (descriptor, port) = try bound()
    guard Glibc.listen(descriptor, 128) == 0 else { throw TestFailure("cannot listen: \(errno)") }
    return (descriptor, port)
  }

  /// With SO_REUSEADDR, which lets a server that sets it too listen beside a socket that does not.
  fileprivate static func bound() throws -> (descriptor: CInt, port: UInt16) {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
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

  /// The port of one end of a connection; 0 if there is none.
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
