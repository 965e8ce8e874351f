import CLinux
import NetwatchLibC

/// Unix sockets, by their paths.
package enum UnixSocket {
  /// The most bytes that a path may have.
  package static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  /// Calls `body` with the address of a path.
  ///
  /// - Throws: A ``SystemError``: `ENAMETOOLONG` if the path is empty or longer than ``longestPath``.
  package static func withAddress<Result>(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws(SystemError) -> Result {
    guard 1...longestPath ~= path.utf8.count else { throw SystemError(operation: "connect", code: ENAMETOOLONG) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (offset, byte) in path.utf8.enumerated() { unsafe place[offset] = byte }
    }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// Connects to the socket at a path. This succeeds or fails at once, and the socket does not block.
  ///
  /// - Throws: A ``SystemError``: `EAGAIN` if too many connections wait for the server, and other errors of the system, such as `ENOENT`
  ///   or `ECONNREFUSED` if no server listens.
  package static func connect(to path: String) throws(SystemError) -> FileDescriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = try FileDescriptor.result(of: "socket", NetwatchLibC.socket(AF_UNIX, type, 0))
    let result = try unsafe withAddress(path) { unsafe NetwatchLibC.connect(descriptor.rawValue, $0, $1) }
    guard result == 0 else { throw .last("connect") }
    return descriptor
  }
}
