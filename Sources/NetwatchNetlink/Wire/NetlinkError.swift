import CLibNetlink
import Glibc
import Netwatch

/// Netlink that does not do what was asked.
package struct NetlinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call that failed, as in its manual page.
  package let operation: String
  /// The system's error number.
  package let code: CInt

  /// The error of the system call that just failed, or that a libnl call made: libnl folds several into one of its own.
  static func last(_ operation: String) -> NetlinkError {
    NetlinkError(operation: operation, code: errno)
  }

  /// The same may succeed a moment later.
  var isTransient: Bool { [ENOBUFS, ENOMEM, EINTR, EAGAIN].contains(code) }

  package var description: String {
    let system = unsafe String(cString: strerror(code))
    switch code {
    case EPERM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT, ENOSYS:
      return "netlink is not permitted here (\(operation): \(system)); "
        + "allow AF_NETLINK sockets in the sandbox or seccomp filter that this runs under"
    default:
      return "netlink failed (\(operation): \(system))"
    }
  }

  var asMonitorError: NetworkMonitorError {
    NetworkMonitorError(operation: operation, code: code, description: description)
  }
}
