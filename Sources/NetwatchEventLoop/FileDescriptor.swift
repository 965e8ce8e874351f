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

  /// The text of a short file, such as one of /proc or /sys, without the newline at its end. Nil if it cannot be read.
  ///
  /// - Parameter capacity: how many bytes are read at most.
  package static func text(of path: String, capacity: Int = 4_096) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    let file = FileDescriptor(owning: descriptor)
    return unsafe withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 1) { buffer in
      let count = unsafe read(file.rawValue, buffer.baseAddress, buffer.count)
      guard count >= 0 else { return nil }
      let hasNewline = unsafe count > 0 && buffer[count - 1] == UInt8(ascii: "\n")
      return unsafe String(decoding: buffer[..<(hasNewline ? count - 1 : count)], as: UTF8.self)
    }
  }

  /// What a symbolic link leads to. Nil if it is none.
  package static func target(ofLink path: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
      guard let start = unsafe buffer.assumingMemoryBound(to: CChar.self).baseAddress else { return nil }
      let count = unsafe readlink(path, start, buffer.count)
      return unsafe count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
  }

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
