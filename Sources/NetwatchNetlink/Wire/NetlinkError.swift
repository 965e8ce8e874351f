import CLibNetlink
import Glibc
import Netwatch
import NetwatchEventLoop

/// An error of netlink: the kernel refuses or fails a call.
package struct NetlinkError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call that failed, as its manual page names it.
  package let operation: String
  /// The system's error number.
  package let code: CInt

  /// Returns the error of the last system call or libnl call, from `errno`. libnl's own codes combine several errors into one.
  static func last(_ operation: String) -> NetlinkError {
    NetlinkError(operation: operation, code: errno)
  }

  /// Whether repeating the call may succeed a moment later.
  var isTransient: Bool { [ENOBUFS, ENOMEM, EINTR, EAGAIN].contains(code) }

  /// Whether the reason passes: there is no descriptor or memory at the moment.
  package var isPassing: Bool { SystemError.isPassing(code) }

  /// A sentence about the error for people.
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
