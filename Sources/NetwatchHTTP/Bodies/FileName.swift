import CLinux
import NetwatchLibC

/// A name in a folder that is opened once. A file, its companions and its final name then lie in the same folder, whatever becomes
/// of the path of the folder meanwhile. A symbolic link of that name is never followed.
struct FileName: Sendable {
  /// The path, for errors.
  let path: String
  private let name: String
  private let folder: OpenFile

  /// Opens the folder of a path. Links on the way to the folder are followed.
  init(_ path: String) throws(HTTPError) {
    let (folder, name) = Self.parts(of: path)
    let flags = netwatch_open_path | O_DIRECTORY | O_CLOEXEC
    let number = unsafe NetwatchLibC.open(folder.isEmpty ? "." : String(folder), flags)
    guard number >= 0 else { throw HTTPError(file: path, "open") }
    self.init(path, String(name), OpenFile(owning: number))
  }

  private init(_ path: String, _ name: String, _ folder: OpenFile) {
    self.path = path
    self.name = name
    self.folder = folder
  }

  /// Returns the part of a path up to its last slash, and the rest.
  private static func parts(of path: String) -> (folder: Substring, name: Substring) {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
    return (path[..<start], path[start...])
  }

  /// The name of a companion in the same folder; see ``companion(of:suffix:)``.
  ///
  /// - Parameters:
  ///   - suffix: The suffix of the name.
  ///   - longest: The longest suffix that any companion of this name gets. Default: `suffix`.
  func companion(_ suffix: String, longest: String? = nil) -> FileName {
    let path = Self.companion(of: path, suffix: longest ?? suffix) + suffix
    return FileName(path, String(Self.parts(of: path).name), folder)
  }

  /// The name with a suffix, in the same folder.
  func adding(_ suffix: String) -> FileName { FileName(path + suffix, name + suffix, folder) }

  // MARK: System calls

  /// Opens the file. Children do not inherit the descriptor.
  ///
  /// - Returns: The descriptor; negative on failure, with `errno` set.
  func open(_ flags: CInt, _ rights: mode_t = 0) -> CInt {
    unsafe openat(folder.number, name, flags | O_CLOEXEC | O_NOFOLLOW, rights)
  }

  /// What the name belongs to; a link is not followed. Nil if there is nothing, and `errno` has the reason.
  var status: stat? {
    var status = stat()
    return unsafe fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Returns the name to which a link leads: the next one, which may be a link again. Nil if it is none, or if it cannot be read.
  func destination() throws(HTTPError) -> FileName? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe bytes.withUnsafeMutableBytes { room in
      unsafe room.baseAddress.map { unsafe readlinkat(folder.number, name, $0, room.count) } ?? -1
    }
    guard count > 0, count < bytes.count else { return nil }
    let text = String(decoding: bytes[..<count], as: UTF8.self)
    return try FileName(text.hasPrefix("/") ? text : String(Self.parts(of: path).folder) + text)
  }

  /// Removes the name.
  ///
  /// - Returns: False on failure, with `errno` set.
  @discardableResult
  func remove() -> Bool { unsafe unlinkat(folder.number, name, 0) == 0 }

  /// Gives the file another name. A file that has that name is replaced.
  ///
  /// - Returns: False on failure, with `errno` set.
  func rename(to other: FileName) -> Bool {
    unsafe renameat(folder.number, name, other.folder.number, other.name) == 0
  }

  /// Returns whether the name belongs to an open file.
  func belongs(to file: OpenFile) -> Bool {
    var own = stat()
    guard unsafe fstat(file.number, &own) == 0, let named = status else { return false }
    return own.st_ino == named.st_ino && own.st_dev == named.st_dev
  }

  /// Gives a complete file its final name.
  ///
  /// - Parameter replacesExisting: Whether an existing file is replaced atomically. Otherwise it is an error.
  func place(at target: FileName, replacesExisting: Bool) throws(HTTPError) {
    let flags = replacesExisting ? 0 : netwatch_rename_noreplace
    if unsafe renameat2(folder.number, name, target.folder.number, target.name, flags) == 0 { return }
    // NFS, sshfs and others return this for the flag.
    guard !replacesExisting, errno == EINVAL, placeByLink(at: target) else {
      throw HTTPError(file: target.path, "rename to")
    }
  }

  /// Moves the file with a hard link, which also fails if the name exists.
  private func placeByLink(at target: FileName) -> Bool {
    if unsafe linkat(folder.number, name, target.folder.number, target.name, 0) == 0 {
      remove()
      return true
    }
    guard errno != EEXIST else { return false }
    // The file system has no hard links either: a file that appears at this moment would be replaced.
    guard target.status == nil else {
      errno = EEXIST
      return false
    }
    return rename(to: target)
  }

  // MARK: Companions

  /// The limit of Linux's own file systems.
  private static let usualLimit = 255

  /// Returns the path for a companion, a file that lies beside another one while that is being made. The caller appends a
  /// suffix.
  ///
  /// It is the path of the file, unless the name would become longer than the file system allows. Then the name is cut and ends
  /// with a checksum of the whole name.
  static func companion(of path: String, suffix: String) -> String {
    let (folder, name) = parts(of: path)
    let most = limit(in: folder.isEmpty ? "." : String(folder)) - suffix.utf8.count
    guard name.utf8.count > most else { return path }
    let mark = "-" + OpenFile.fingerprint(name)
    var head = name
    while head.utf8.count > max(most - mark.utf8.count, 0) { head.removeLast() }
    return folder + head + mark
  }

  private static func limit(in folder: String) -> Int {
    let limit = unsafe pathconf(folder, CInt(_PC_NAME_MAX))
    return limit > 0 ? limit : usualLimit
  }
}
