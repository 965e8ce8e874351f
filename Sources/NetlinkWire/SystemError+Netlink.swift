import Glibc
import Netwatch
import NetwatchEventLoop

extension SystemError {
  /// Returns the error of a call to netlink.
  ///
  /// - Parameters:
  ///   - operation: The call that failed, as its manual page names it.
  ///   - code: The system's error number. libnl's own codes combine several of them into one.
  package static func netlink(_ operation: String, _ code: CInt) -> SystemError {
    let system = unsafe String(cString: strerror(code))
    let sentence =
      switch code {
      case EPERM, EACCES, EAFNOSUPPORT, EPROTONOSUPPORT, ENOSYS:
        "netlink is not permitted here (\(operation): \(system)); "
          + "allow AF_NETLINK sockets in the sandbox or seccomp filter that this runs under"
      default: "netlink failed (\(operation): \(system))"
      }
    return SystemError(operation: operation, code: code, sentence: sentence)
  }

  /// Whether a request to netlink that failed with this error number may succeed a moment later.
  static func isTransient(_ code: CInt) -> Bool { [ENOBUFS, ENOMEM, EINTR, EAGAIN].contains(code) }

  package var isTransient: Bool { Self.isTransient(code) }

  package var asMonitorError: NetworkMonitorError {
    NetworkMonitorError(operation: operation, code: code, description: description)
  }
}
