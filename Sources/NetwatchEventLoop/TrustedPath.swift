import CLinux
import NetwatchLibC

/// A file or folder that only root and the user of this process can change or replace, and the way to it.
///
/// The owner of a folder can put anything in place of what it contains, and a file that was checked by its path can be another
/// one a moment later. So the path is walked from the root folder, name by name, each opened in the folder before it without
/// following links. Links are resolved here, and the way of each is walked like the rest:
/// - Each folder on the way belongs to root or to the user of this process.
/// - Others can write to a folder only if it belongs to root and is sticky, as /tmp. What lies in it belongs to root or to the
///   user. If everybody can write to it, only a folder in it is trusted: others can move or link a file of root to there.
/// - The file or folder at the end belongs to root or to the user, and others cannot write to it at all.
///
/// Everybody except root and the user counts as others, also a group that has only the user in it: the list of its members is
/// outside the file system and can change. The rights of an access list appear in the mode of the group. Root is also the
/// overflow id, if ``UserNamespace/isHiddenRoot(_:)``.
///
/// For a user's own state, a caller may accept what belongs to that user and to a group: with the umask 002 of many systems,
/// every folder of a user is like this. Root never accepts it.
///
/// Nobody else can change such a way later. So it makes no difference whether the file is used by ``descriptor`` or by ``path``.
package struct TrustedPath: ~Copyable {
  /// The reason why a path is not trusted. `path` names the folder, link or file that is the reason.
  package enum Fault: Error, Equatable, CustomStringConvertible {
    /// Another user can change what is there.
    case belongsToOthers(path: String)
    /// Other users can write there.
    case othersCanWrite(path: String)
    /// Everybody can create files there, as in /tmp.
    case isShared(path: String)
    /// There is nothing at the path, or it cannot be examined.
    case failed(path: String, SystemError)

    /// The reason, for a sentence such as "the hook does not run, because …", with advice. Text from outside is not yet made
    /// harmless for a terminal.
    package var description: String {
      switch self {
      case .belongsToOthers(let path): "'\(path)' belongs to another user; make yourself or root its owner"
      case .othersCanWrite(let path): "others can write to '\(path)'; run: chmod go-w '\(path)'"
      case .isShared(let path): "everybody can create files in '\(path)'; use a folder in it, or another one"
      case .failed(let path, let error): "'\(path)' cannot be opened: \(error.message)"
      }
    }
  }

  /// As many links as the kernel follows in one path (path_resolution(7)).
  private static let mostLinks = 40

  /// The descriptor of the file or folder, by which it is found but not read (`O_PATH`). Children do not inherit it. A file in a
  /// folder is opened with `openat` and `O_NOFOLLOW`.
  package let descriptor: FileDescriptor
  /// The absolute path, without links.
  package let path: String
  /// The facts about the file or folder.
  package let status: stat
  private let acceptsOwnGroups: Bool

  /// Walks to a file or folder.
  ///
  /// - Parameters:
  ///   - path: The path. A relative one begins at the current folder.
  ///   - mode: The mode of folders that are created if they are missing, also of the last one. Default: nil, none is created.
  ///   - acceptsOwnGroups: Whether a group may write to what belongs to the user, unless that is root. Default: false.
  /// - Throws: A `Fault` if the path is not trusted, or there is nothing.
  package init(
    _ path: String, creatingFolders mode: mode_t? = nil, acceptsOwnGroups: Bool = false
  ) throws(Fault) {
    self = try Self.walk(to: path, creatingFolders: mode, acceptsOwnGroups: acceptsOwnGroups && geteuid() != 0)
  }

  private init(_ descriptor: consuming FileDescriptor, _ path: String, _ status: stat, acceptsOwnGroups: Bool) {
    self.descriptor = descriptor
    self.path = path
    self.status = status
    self.acceptsOwnGroups = acceptsOwnGroups
  }

  private var isWritableByOthers: Bool {
    let isAccepted = acceptsOwnGroups && status.st_uid == geteuid()
    return status.st_mode & mode_t(isAccepted ? S_IWOTH : S_IWGRP | S_IWOTH) != 0
  }

  /// Whether this is a folder.
  package var isFolder: Bool { status.st_mode & S_IFMT == S_IFDIR }
  /// Whether this is a regular file.
  package var isFile: Bool { status.st_mode & S_IFMT == S_IFREG }

  private var isSticky: Bool { status.st_mode & NetwatchLibC.S_ISVTX != 0 }

  /// Whether what belongs to `user` can be changed only by root and by the user of this process.
  private static func isTrusted(_ user: uid_t) -> Bool { user == geteuid() || isRoot(user) }

  private static func isRoot(_ user: uid_t) -> Bool { user == 0 || UserNamespace.isHiddenRoot(user) }

  // MARK: Checks

  private func checkOwner() throws(Fault) {
    guard Self.isTrusted(status.st_uid) else { throw .belongsToOthers(path: path) }
  }

  /// Checks whether others cannot replace what this folder contains.
  private func checkPassage() throws(Fault) {
    guard isFolder, isWritableByOthers else { return }
    guard isSticky, Self.isRoot(status.st_uid) else { throw .othersCanWrite(path: path) }
  }

  /// Checks a file or link of this folder, if others can also create files in it.
  private func checkFileOfSharedFolder(_ facts: stat, _ place: String) throws(Fault) {
    guard isWritableByOthers else { return }
    guard Self.isTrusted(facts.st_uid) else { throw .belongsToOthers(path: place) }
    guard status.st_mode & mode_t(S_IWOTH) == 0 else { throw .isShared(path: path) }
  }

  // MARK: Folders

  /// The endings of files that editors and package managers leave behind, as in NetworkManager's dispatcher.
  private static let leftovers = ["~", ".bak", ".swp", ".orig", ".rpmsave", ".rpmnew", ".rpmorig"]

  /// Returns the names of what is in this folder in the order of their bytes, without hidden files and leftovers.
  package borrowing func fileNames() throws(Fault) -> [String] {
    let number = unsafe openat(descriptor.rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0, let folder = unsafe fdopendir(number) else {
      let error = SystemError.last("open")
      if number >= 0 { close(number) }
      throw .failed(path: path, error)
    }
    defer { unsafe closedir(folder) }
    var names: [String] = []
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name.hasPrefix(".") || name.contains(".dpkg-") || Self.leftovers.contains(where: name.hasSuffix) { continue }
      names.append(name)
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Steps

  private static func root(acceptsOwnGroups: Bool) throws(Fault) -> TrustedPath {
    let number = unsafe NetwatchLibC.open("/", netwatch_open_path | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw .failed(path: "/", .last("open")) }
    let descriptor = FileDescriptor(owning: number)
    let status = try facts(of: descriptor, "/")
    let root = TrustedPath(descriptor, "/", status, acceptsOwnGroups: acceptsOwnGroups)
    try root.checkOwner()
    return root
  }

  private static func walk(
    to path: String, creatingFolders mode: mode_t?, acceptsOwnGroups: Bool
  ) throws(Fault) -> TrustedPath {
    var here = try root(acceptsOwnGroups: acceptsOwnGroups)
    // The last name comes first.
    var names = reversedNames(of: try absolute(path))
    var links = 0
    while let name = names.popLast() {
      guard name != "." else {
        guard here.isFolder else { throw .failed(path: here.path, SystemError(operation: "openat", code: ENOTDIR)) }
        continue
      }
      let place = name == ".." ? parent(of: here.path) : Self.path(of: name, in: here.path)
      try here.checkPassage()
      let entry = try here.open(name, place, creatingFolders: mode)
      let facts = try facts(of: entry, place)
      if facts.st_mode & S_IFMT != S_IFDIR { try here.checkFileOfSharedFolder(facts, place) }
      guard facts.st_mode & S_IFMT == S_IFLNK else {
        here = TrustedPath(entry, place, facts, acceptsOwnGroups: acceptsOwnGroups)
        try here.checkOwner()
        continue
      }
      links += 1
      guard links <= mostLinks else { throw .failed(path: path, SystemError(operation: "openat", code: ELOOP)) }
      let target = try target(of: entry, place)
      names += reversedNames(of: target)
      if target.utf8.first == UInt8(ascii: "/") { here = try root(acceptsOwnGroups: acceptsOwnGroups) }
    }
    guard here.isWritableByOthers else { return here }
    // Nobody should be told to take the rights to /tmp away.
    let isShared =
      here.isFolder && here.isSticky && here.status.st_mode & mode_t(S_IWOTH) != 0 && isRoot(here.status.st_uid)
    throw isShared ? .isShared(path: here.path) : .othersCanWrite(path: here.path)
  }

  /// Opens what has a name in this folder: also a link, which is not followed.
  private func open(_ name: String, _ place: String, creatingFolders mode: mode_t?) throws(Fault) -> FileDescriptor {
    let flags = netwatch_open_path | O_NOFOLLOW | O_CLOEXEC
    var number = unsafe openat(descriptor.rawValue, name, flags)
    // If somebody else creates it at this moment, the owner is checked all the same.
    if number < 0, errno == ENOENT, let mode, unsafe mkdirat(descriptor.rawValue, name, mode) == 0 || errno == EEXIST {
      number = unsafe openat(descriptor.rawValue, name, flags)
    }
    guard number >= 0 else { throw .failed(path: place, .last("openat")) }
    return FileDescriptor(owning: number)
  }

  private static func facts(of file: borrowing FileDescriptor, _ place: String) throws(Fault) -> stat {
    var facts = stat()
    guard unsafe fstat(file.rawValue, &facts) == 0 else { throw .failed(path: place, .last("fstat")) }
    return facts
  }

  private static func target(of link: borrowing FileDescriptor, _ place: String) throws(Fault) -> String {
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      count = unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
        unsafe buffer.baseAddress.map { unsafe max(0, readlinkat(link.rawValue, "", $0, buffer.count)) } ?? 0
      }
    }
    // The kernel has no empty links. A text in which bytes were replaced would be another path.
    guard !bytes.isEmpty else { throw .failed(path: place, .last("readlinkat")) }
    guard let target = String(validating: bytes, as: UTF8.self) else {
      throw .failed(path: place, SystemError(operation: "readlinkat", code: EILSEQ))
    }
    return target
  }

  // MARK: Paths

  private static func absolute(_ path: String) throws(Fault) -> String {
    guard !path.isEmpty else { throw .failed(path: path, SystemError(operation: "openat", code: ENOENT)) }
    guard path.utf8.first != UInt8(ascii: "/") else { return path }
    guard let current = unsafe getcwd(nil, 0) else { throw .failed(path: path, .last("getcwd")) }
    defer { unsafe free(current) }
    guard let folder = unsafe String(validatingCString: current) else {
      throw .failed(path: path, SystemError(operation: "getcwd", code: EILSEQ))
    }
    return Self.path(of: path, in: folder)
  }

  /// Returns the names of a path in reverse order. A slash at the end is the name ".", because only a folder may have one.
  ///
  /// Bytes are compared: a slash and a combining character after it are one `Character`.
  private static func reversedNames(of path: String) -> [String] {
    let slash = UInt8(ascii: "/")
    let names = path.utf8.split(separator: slash).map { String(Substring($0)) }
    return (path.utf8.last == slash ? ["."] : []) + names.reversed()
  }

  private static func path(of name: String, in folder: String) -> String {
    folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  private static func parent(of folder: String) -> String {
    guard let slash = folder.utf8.lastIndex(of: UInt8(ascii: "/")), slash > folder.startIndex else { return "/" }
    return String(folder[..<slash])
  }
}
