import CLinux
import NetwatchLibC

/// An open file descriptor that is closed when it goes out of scope.
public struct FileDescriptor: ~Copyable, Sendable {
  /// The number of the descriptor.
  public let rawValue: CInt

  /// Takes ownership of `rawValue`, which must be open.
  public init(owning rawValue: CInt) {
    self.rawValue = rawValue
  }

  /// Takes ownership of a call's result. Throws the error in `errno` if the call has failed.
  package static func result(of operation: String, _ value: CInt) throws(SystemError) -> FileDescriptor {
    guard value >= 0 else { throw .last(operation) }
    return FileDescriptor(owning: value)
  }

  deinit { _ = NetwatchLibC.close(rawValue) }

  /// Opens a folder, in which files can then be found whatever becomes of its path (`O_PATH`). Links on the way are followed.
  package static func folder(_ path: String) throws(SystemError) -> FileDescriptor {
    try result(of: "open", unsafe open(path, netwatch_open_path | O_DIRECTORY | O_CLOEXEC))
  }

  /// Returns the text of a short file, such as one of /proc or /sys, without the newline at its end. Nil if the file cannot be
  /// read.
  ///
  /// - Parameter capacity: The most bytes to read. Default: 4,096.
  package static func text(of path: String, capacity: Int = 4_096) -> String? {
    guard var bytes = bytes(of: path, capacity: capacity) else { return nil }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the first bytes of a file. Nil if it cannot be opened or read.
  ///
  /// - Parameter capacity: The most bytes to read.
  package static func bytes(of path: String, capacity: Int) -> [UInt8]? {
    // A pipe at this path would otherwise wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = FileDescriptor(owning: descriptor)
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, length in
      count = unsafe read(file.rawValue, buffer.baseAddress, buffer.count)
      length = max(0, count)
    }
    return count < 0 ? nil : bytes
  }

  /// Returns the target of a symbolic link. Nil if the path is not a link.
  package static func target(ofLink path: String) -> String? {
    unsafe withUnsafeTemporaryAllocation(byteCount: Int(PATH_MAX), alignment: 1) { buffer in
      guard let start = unsafe buffer.assumingMemoryBound(to: CChar.self).baseAddress else { return nil }
      let count = unsafe readlink(path, start, buffer.count)
      return unsafe count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
    }
  }

  /// Returns the names in a folder, in no order. Empty if it cannot be read.
  package static func names(inFolder path: String) -> [String] { list(ofFolder: path) ?? [] }

  /// Returns the names in a folder, in no order; nil if it cannot be read.
  package static func list(ofFolder path: String) -> [String]? {
    guard let list = unsafe opendir(path) else { return nil }
    defer { unsafe closedir(list) }
    var names: [String] = []
    while let entry = unsafe readdir(list) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      names.append(name)
    }
    return names
  }

  /// Writes all of `bytes`. If there is no room, it waits, even if the descriptor is non-blocking.
  ///
  /// - Throws: A ``SystemError``: `EPIPE` if the reader is gone (unless SIGPIPE is ignored, that signal is sent as well),
  ///   `ENOSPC`,
  ///   `EFBIG`, and other errors of the system. Some of the bytes may have been written then.
  package static func writeAll(_ bytes: RawSpan, to descriptor: CInt) throws(SystemError) {
    var written = 0
    while written < bytes.byteCount {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe NetwatchLibC.write(descriptor, bytes.baseAddress.map { unsafe $0 + written }, bytes.count - written)
      }
      if count > 0 {
        written += count
      } else if count == 0 {
        // No file system does this for a file with room, and the next try could do the same.
        throw SystemError(operation: "write", code: ENOSPC)
      } else if errno == EAGAIN {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        unsafe poll(&waiting, 1, -1)
      } else if errno != EINTR {
        throw .last("write")
      }
    }
  }
}

extension FileDescriptor {
  /// Returns the width of a terminal in columns. If the terminal does not report it, COLUMNS is used; nil if that is not set
  /// either.
  package static func columns(of terminal: CInt) -> Int? {
    var size = winsize()
    if unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return String(environment: "COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// Returns the number of lines of a terminal; nil if the terminal does not report it.
  package static func rows(of terminal: CInt) -> Int? {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }
}
