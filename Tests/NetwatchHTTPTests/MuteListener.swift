import Glibc
import NetwatchTestSupport

/// A listener whose queue is full. The kernel drops the first packet of each new connection, as a firewall may do.
final class MuteListener {
  private var sockets: [CInt] = []

  /// - Parameter address: The IPv4 address, as a number.
  init(_ address: UInt32, port: Int) throws {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = in_port_t(port).bigEndian
    name.sin_addr.s_addr = address.bigEndian
    // The first socket listens. The others connect to it and fill its queue.
    for _ in 0..<4 {
      let socket = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
      sockets.append(socket)
      let code = unsafe withUnsafePointer(to: name) { name in
        unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
          let length = socklen_t(MemoryLayout<sockaddr_in>.size)
          return unsafe sockets.count == 1 ? bind(socket, name, length) : connect(socket, name, length)
        }
      }
      guard code == 0 || errno == EINPROGRESS else { throw TestFailure("the mute listener failed with errno \(errno)") }
      if sockets.count == 1 { listen(socket, 0) }
    }
  }

  deinit { for socket in sockets { close(socket) } }
}
