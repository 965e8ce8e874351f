import Glibc

/// An open file descriptor, closed when it goes out of scope.
public struct FileDescriptor: ~Copyable, Sendable {
  public let rawValue: CInt

  /// Takes ownership of `rawValue`, which must be open.
  public init(owning rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// Takes ownership of what a call returned, or throws its error.
  package static func result(of operation: String, _ value: CInt) throws(SystemError) -> FileDescriptor {
    guard value >= 0 else { throw .last(operation) }
    return FileDescriptor(owning: value)
  }

  deinit { _ = Glibc.close(rawValue) }

  /// Writes all of `bytes`, and waits for room where there is none: also to what somebody has made non-blocking.
  ///
  /// - Throws: `EPIPE` if nobody reads any more, which is a signal too unless that is ignored; `ENOSPC`, and whatever else the
  ///   system says. Some of the bytes may be written then.
  package static func writeAll(_ bytes: RawSpan, to descriptor: CInt) throws(SystemError) {
    var written = 0
    while written < bytes.byteCount {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        unsafe poll(&waiting, 1, -1)
      } else if errno != EINTR {
        throw .last("write")
      }
    }
  }
}
