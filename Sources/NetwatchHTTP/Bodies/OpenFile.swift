import FoundationEssentials
import Glibc

/// A descriptor of a file, closed when its last reference is released.
final class OpenFile: Sendable {
  /// The end of the name of a partial download.
  static let partSuffix = ".netwatch-part"

  let number: CInt

  /// - Parameter number: A descriptor that nothing else owns.
  init(owning number: CInt) { self.number = number }

  init(reading path: String) throws(HTTPError) {
    // Without O_NONBLOCK, a named pipe would wait for its other end.
    number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
  }

  /// Creates a file, with the mode that the process gives its files.
  init(creating name: FileName) throws(HTTPError) {
    number = name.open(O_WRONLY | O_CREAT | O_EXCL, 0o666)
    guard number >= 0 else { throw HTTPError(file: name.path, "open") }
  }

  deinit { _ = close(number) }

  /// Returns the size in bytes. Nil if it is not a regular file.
  func size() -> Int64? {
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(status.st_size)
  }

  /// Returns the time of the last change of its content, since 1970.
  func lastChange() -> Duration {
    var status = stat()
    return unsafe fstat(number, &status) == 0 ? Self.lastChange(status) : .zero
  }

  static func lastChange(_ status: stat) -> Duration {
    .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
  }

  /// - Parameter path: The name of the file, for errors.
  /// - Returns: The number of bytes read. It is less than the room only at the end of the file.
  func read(into room: UnsafeMutableRawBufferPointer, at offset: Int64, named path: String) throws(HTTPError) -> Int {
    var filled = 0
    while filled < room.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...])
      let count = unsafe pread(number, rest.baseAddress, rest.count, off_t(offset) + filled)
      if count < 0 {
        if errno == EINTR { continue }
        throw HTTPError(file: path, "read")
      }
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// - Parameter path: The name of the file, for errors.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, named path: String) throws(HTTPError) {
    var written = 0
    while written < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = unsafe pwrite(number, rest.baseAddress, rest.count, off_t(offset) + written)
      if count < 0 {
        if errno == EINTR { continue }
        throw HTTPError(file: path, "write")
      }
      if count == 0 {
        // No file system does this for a file with room, and the next try could do the same.
        errno = ENOSPC
        throw HTTPError(file: path, "write")
      }
      written += count
    }
  }
}

extension OpenFile {
  /// Writes all of the bytes.
  ///
  /// - Parameter path: The name of the file, for errors.
  func write(_ bytes: [UInt8], at offset: Int64, named path: String) throws(HTTPError) {
    let result = unsafe bytes.withUnsafeBytes { bytes in
      do throws(HTTPError) {
        return Result<Void, HTTPError>.success(try unsafe write(bytes, at: offset, named: path))
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }
}

/// Functions that put files into their place.
extension OpenFile {
  /// Returns the name of a download. Throws now if the download could not be stored there, and not only when it is complete.
  ///
  /// A link of this user or of root stays, and the file that it leads to is replaced. Anybody else's could lead anywhere.
  static func name(of target: URL, replacesExisting: Bool) throws(HTTPError) -> FileName {
    guard target.isFileURL else { throw HTTPError(.fileFailed, "download to \(target)", message: "not a file") }
    var name = try FileName(target.path(percentEncoded: false))
    guard var node = name.status else {
      guard errno != ENAMETOOLONG else { throw HTTPError(file: name.path, "download to") }
      return name
    }
    guard replacesExisting else {
      errno = EEXIST
      throw HTTPError(file: name.path, "download to")
    }
    var steps = 0
    while node.st_mode & S_IFMT == S_IFLNK, [geteuid(), 0].contains(node.st_uid) {
      steps += 1
      errno = ELOOP
      guard steps <= 40, let next = try name.destination() else { throw HTTPError(file: name.path, "follow the link") }
      name = next
      // Nothing is there yet, as for a name without a link.
      guard let end = name.status else { return name }
      node = end
    }
    guard node.st_mode & S_IFMT == S_IFREG else {
      let kind =
        switch node.st_mode & S_IFMT {
        case S_IFDIR: "a folder"
        case S_IFLNK: "somebody else's link"
        case S_IFIFO: "a named pipe"
        case S_IFSOCK: "a socket"
        default: "a device"
        }
      throw HTTPError(
        .fileFailed, "download to \(name.path)",
        message: "it is \(kind), which a download does not replace; name a file")
    }
    return name
  }

  /// Creates the folder of a file and those above it, unless they exist.
  static func createFolder(of target: URL) throws(HTTPError) {
    let folder = target.deletingLastPathComponent().path(percentEncoded: false)
    guard target.isFileURL else { return }
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw HTTPError(.fileFailed, "create the folder \(folder)", message: "\(error)", underlying: error)
    }
  }

  /// Returns sixteen hexadecimal digits that distinguish texts: FNV-1a of 64 bits, which does not resist deliberate collisions.
  static func fingerprint(_ text: some StringProtocol) -> String {
    hexadecimal(text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
  }

  private static func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
