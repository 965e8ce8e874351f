import CLinux
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
  init(creating path: String) throws(HTTPError) {
    number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
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
  /// Returns the path of a download. Throws now if the download could not be stored there, and not only when it is complete.
  static func path(of target: URL, replacesExisting: Bool) throws(HTTPError) -> String {
    let path = target.path(percentEncoded: false)
    guard target.isFileURL else { throw HTTPError(.fileFailed, "download to \(target)", message: "not a file") }
    if unsafe access(path, F_OK) == 0 {
      if !replacesExisting {
        errno = EEXIST
        throw HTTPError(file: path, "download to")
      }
    } else if errno == ENAMETOOLONG {
      throw HTTPError(file: path, "download to")
    }
    return path
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

  /// Moves a complete file to its destination.
  ///
  /// - Parameter replacesExisting: Whether an existing file is replaced atomically. Otherwise it is an error.
  static func place(_ path: String, at name: String, replacesExisting: Bool) throws(HTTPError) {
    let flags = replacesExisting ? 0 : netwatch_rename_noreplace
    if unsafe renameat2(AT_FDCWD, path, AT_FDCWD, name, flags) == 0 { return }
    // NFS, sshfs and others return this for the flag.
    guard !replacesExisting, errno == EINVAL, placeByNames(path, at: name) else {
      throw HTTPError(file: name, "rename to")
    }
  }

  /// Moves the file with a hard link, which also fails if the name exists.
  private static func placeByNames(_ path: String, at name: String) -> Bool {
    if unsafe link(path, name) == 0 {
      _ = unsafe unlink(path)
      return true
    }
    guard errno != EEXIST else { return false }
    // The file system has no hard links either: a file that appears at this moment would be replaced.
    guard unsafe access(name, F_OK) != 0 else {
      errno = EEXIST
      return false
    }
    return unsafe rename(path, name) == 0
  }

  /// The limit of Linux's own file systems.
  private static let usualLimit = 255

  /// Returns the path for a companion, a file that lies beside another one while that is being made. The caller appends a
  /// suffix.
  ///
  /// It is the path of the file, unless the name would become longer than the file system allows. Then the name is cut and ends
  /// with a checksum of the whole name.
  static func companion(of path: String, suffix: String) -> String {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
    let (folder, name) = (path[..<start], path[start...])
    let most = limit(in: folder.isEmpty ? "." : String(folder)) - suffix.utf8.count
    guard name.utf8.count > most else { return path }
    let mark = "-" + fingerprint(name)
    var head = name
    while head.utf8.count > max(most - mark.utf8.count, 0) { head.removeLast() }
    return folder + head + mark
  }

  private static func limit(in folder: String) -> Int {
    let limit = unsafe pathconf(folder, CInt(_PC_NAME_MAX))
    return limit > 0 ? limit : usualLimit
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
