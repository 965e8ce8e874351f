import FoundationEssentials
import NetwatchLibC

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

  /// Flushes the folder of a file to its disk, so that the names in it outlive a loss of power.
  static func flushFolder(of path: String) {
    let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    let number = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if number >= 0 { fsync(OpenFile(owning: number).number) }
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

/// Files that a download has left for the next one, in folders that others may also write to.
///
/// All checks use the open descriptor, never the name, because the name may already belong to another file.
extension OpenFile {
  /// The mode while the file is being written, so that no other user can write it. At the end it gets the mode that the process
  /// gives its files.
  static let rights: mode_t = 0o644
  /// A limit, so that a program that creates files as fast as they are removed cannot block a download forever.
  private static let mostAttempts = 100

  /// Whether only this user can have written the file: this user owns it, nobody else may write it, and it has no other name.
  var isOurs: Bool {
    var status = stat()
    return unsafe fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
      && status.st_nlink == 1 && status.st_mode & (S_IWGRP | S_IWOTH) == 0
  }

  /// Returns nil if there is no file, or if it is not ``isOurs``. A symbolic link is not followed.
  static func openTrusted(_ name: FileName) -> OpenFile? {
    // Without O_NONBLOCK, a named pipe would wait for its other end.
    let descriptor = name.open(O_RDONLY | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = OpenFile(owning: descriptor)
    return file.isOurs ? file : nil
  }

  /// Creates an empty file. Anything that already has the name, such as a link from another user, is removed.
  static func createTrusted(_ name: FileName, rights: mode_t) throws(HTTPError) -> OpenFile {
    name.remove()
    let descriptor = name.open(O_RDWR | O_CREAT | O_EXCL, rights)
    guard descriptor >= 0 else { throw HTTPError(file: name.path, "open") }
    return OpenFile(owning: descriptor)
  }

  /// Opens and locks the file of that name if it is ``isOurs``, else a new one in its place. The lock excludes other downloads.
  static func openLocked(_ name: FileName) throws(HTTPError) -> OpenFile {
    for _ in 0..<mostAttempts {
      if let file = try openOnce(name) { return file }
    }
    throw HTTPError(.fileFailed, "open \(name.path)", message: "somebody replaces it again and again")
  }

  /// Returns nil if the name has come to belong to another file or to none in the meantime.
  private static func openOnce(_ name: FileName) throws(HTTPError) -> OpenFile? {
    let path = name.path
    var descriptor = name.open(O_RDWR | O_NONBLOCK | O_CREAT | O_EXCL, rights)
    let isNew = descriptor >= 0
    if !isNew, errno == EEXIST {
      descriptor = name.open(O_RDWR | O_NONBLOCK)
      if descriptor < 0, errno == ENOENT { return nil }
    }
    guard descriptor >= 0 else { throw HTTPError(file: path, "open") }
    let file = OpenFile(owning: descriptor)
    guard file.size() != nil else { throw HTTPError(.fileFailed, "open \(path)", message: "not a regular file") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw HTTPError(file: path, "lock") }
      throw HTTPError(
        .fileFailed, "lock \(path)", code: errno, domain: .system, message: "another download writes into it")
    }
    // The previous owner may have moved it to its destination since it was opened here. Then it is no longer a partial file.
    guard name.belongs(to: file) else { return nil }
    if isNew || file.isOurs { return file }
    guard name.remove() || errno == ENOENT else {
      throw HTTPError(
        .fileFailed, "continue \(path)", code: errno, domain: .system,
        message: "others may have written it, and it cannot be removed; remove it or choose another folder")
    }
    return nil
  }

  /// Gives the file the mode that the process gives its files: by its umask, or by the default access list of the folder.
  ///
  /// - Parameter name: The name of a file that is created to read the mode, and removed at once.
  func takeRights(of name: FileName) {
    guard let sample = try? Self.createTrusted(name, rights: 0o666) else { return }
    name.remove()
    var (wanted, own) = (stat(), stat())
    guard unsafe fstat(sample.number, &wanted) == 0, unsafe fstat(number, &own) == 0,
      wanted.st_mode != own.st_mode
    else { return }
    // Some file systems have no modes. Then there is nothing to set.
    _ = fchmod(number, wanted.st_mode & 0o777)
  }
}

/// A file that is written beside its destination, and moved there when it is complete. If it is released earlier, it is
/// removed.
final class NewFile {
  let target: URL
  private let replacesExisting: Bool
  private let name: FileName
  private let draft: FileName
  private let file: OpenFile
  private var length: Int64 = 0
  private var isPlaced = false

  /// - Throws: `fileFailed` if there is a file that must not be replaced, or if no file can be created there.
  init(for target: URL, replacesExisting: Bool) throws(HTTPError) {
    name = try OpenFile.name(of: target, replacesExisting: replacesExisting)
    draft = name.companion(".\(UInt32.random(in: 0...UInt32.max)).part")
    file = try OpenFile(creating: draft)
    self.target = target
    self.replacesExisting = replacesExisting
  }

  deinit {
    if !isPlaced { draft.remove() }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    try unsafe file.write(bytes, at: length, named: draft.path)
    length += Int64(bytes.count)
  }

  /// - Parameter isFlushed: Whether the file is flushed to its disk before it gets its name. Default: false.
  func place(isFlushed: Bool = false) throws(HTTPError) {
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: draft.path, "fsync") }
    try draft.place(at: name, replacesExisting: replacesExisting)
    isPlaced = true
  }
}
