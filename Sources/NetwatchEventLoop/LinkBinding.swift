import CLinux
import NetwatchLibC

/// Sockets whose packets leave and come over one link only.
package enum LinkBinding {
  /// Binds a socket to a link.
  ///
  /// - Throws: A ``SystemError``: `EPERM` before Linux 5.7 without CAP_NET_RAW, `ENODEV` if there is no such link.
  package static func bind(_ socket: CInt, to link: String) throws(SystemError) {
    // The kernel takes an empty name as the wish to unbind the socket.
    guard !link.isEmpty else { throw SystemError(operation: "bind to a link", code: ENODEV) }
    let name = Array(link.utf8CString)
    let status = unsafe setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(name.count))
    guard status == 0 else { throw .last("bind to \(link)") }
  }

  /// Finds out whether this program may bind sockets to a link.
  ///
  /// - Throws: The error of ``bind(_:to:)``.
  package static func check(_ link: String) throws(SystemError) {
    let type = CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = try FileDescriptor.result(of: "socket", socket(AF_INET, type, 0))
    try bind(descriptor.rawValue, to: link)
  }
}
