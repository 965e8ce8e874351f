import CLinux
import FoundationEssentials
import Glibc

/// A descriptor of a file, closed with its last reference.
final class OpenFile: Sendable {
  let number: CInt

  /// - Parameter number: of nobody else.
  init(owning number: CInt) { self.number = number }

  init(reading path: String) throws(HTTPError) {
    // Without O_NONBLOCK, a named pipe would wait for its other end.
    number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
  }

  /// A new file, with the rights that the process gives its files.
  init(creating path: String) throws(HTTPError) {
    number = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
  }

  deinit { _ = close(number) }

  /// Nil for what is no regular file.
  func size() -> Int64? {
    var status = stat()
    guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    return Int64(status.st_size)
  }

  /// Since 1970, of its content.
  func lastChange() -> Duration {
    var status = stat()
    return unsafe fstat(number, &status) == 0 ? Self.lastChange(status) : .zero
  }

  static func lastChange(_ status: stat) -> Duration {
    .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
  }

  /// - Parameter path: its name, for errors.
  /// - Returns: how many bytes there were; less than there is room for at the end of the file alone.
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

  /// - Parameter path: its name, for errors.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64, named path: String) throws(HTTPError) {
    var written = 0
    while written < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = unsafe pwrite(number, rest.baseAddress, rest.count, off_t(offset) + written)
      if count < 0 {
        if errno == EINTR { continue }
        throw HTTPError(file: path, "write")
      }
      written += count
    }
  }
}

/// Where files are put.
extension OpenFile {
  /// The path of a download, which has to be possible: better now than when all has come.
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

  /// Makes the folder of a file, and those above it, unless they exist.
  static func createFolder(of target: URL) throws(HTTPError) {
    let folder = target.deletingLastPathComponent().path(percentEncoded: false)
    guard target.isFileURL else { return }
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw HTTPError(.fileFailed, "create the folder \(folder)", message: "\(error)", underlying: error)
    }
  }

  /// Puts a file that is whole into its place.
  ///
  /// - Parameter replacesExisting: whether a file that is there is replaced, at once. Otherwise it is an error.
  static func place(_ path: String, at name: String, replacesExisting: Bool) throws(HTTPError) {
    let flags = replacesExisting ? 0 : netwatch_rename_noreplace
    if unsafe renameat2(AT_FDCWD, path, AT_FDCWD, name, flags) == 0 { return }
    // What NFS, sshfs and others say to the flag.
    guard !replacesExisting, errno == EINVAL, placeByNames(path, at: name) else {
      throw HTTPError(file: name, "rename to")
    }
  }

  /// A second name is refused where there is a file, too.
  private static func placeByNames(_ path: String, at name: String) -> Bool {
    if unsafe link(path, name) == 0 {
      _ = unsafe unlink(path)
      return true
    }
    guard errno != EEXIST else { return false }
    // Nor are there second names: a file that comes just now would be replaced.
    guard unsafe access(name, F_OK) != 0 else {
      errno = EEXIST
      return false
    }
    return unsafe rename(path, name) == 0
  }

  /// What Linux's own file systems allow.
  private static let usualLimit = 255

  /// The path of a companion, which lies beside a file while that is made. A suffix can be put behind it: the file's own, unless its name would become longer than the file system allows.
  /// Then the end of the name is a checksum of all of it.
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

  /// Sixteen hexadecimal digits that tell texts apart: FNV-1a of 64 bits, which is not safe from those who look for two alike.
  static func fingerprint(_ text: some StringProtocol) -> String {
    hexadecimal(text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
  }

  private static func hexadecimal(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}
