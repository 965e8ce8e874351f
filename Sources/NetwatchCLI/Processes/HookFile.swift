import Glibc
import Netwatch
import NetwatchEventLoop

/// Checks whether a file may run as a hook: only the user of this process and root may be able to write to it.
enum HookFile {
  private static let writableByOthers = mode_t(S_IWGRP | S_IWOTH)

  /// Returns the path of a file without symbolic links, if the file may run.
  ///
  /// The file, and the folders of the file and of each symbolic link on the way to it, must belong to the user of this process
  /// or to root, and nobody else may write to them. A folder further up may be one like /tmp, in which users cannot replace the
  /// files of others.
  ///
  /// - Throws: A `PlainError` that says what to do, if the file may not run.
  static func checked(_ path: String) throws(PlainError) -> String {
    let resolved = try resolve(path)
    let file = try facts(of: resolved)
    guard file.st_mode & S_IFMT == S_IFREG else {
      throw PlainError("the hook '\(path)' does not run, because it is not a file; move it elsewhere")
    }
    try checkOwner(of: resolved, file, for: path)
    guard file.st_mode & writableByOthers == 0 else { throw othersCanWrite(resolved, for: path) }
    guard unsafe access(resolved, X_OK) == 0 else {
      throw PlainError("the hook '\(path)' does not run, because it is not executable; run: chmod +x '\(resolved)'")
    }
    // If somebody else owns the folder of a link, the link may lead elsewhere at any time.
    var name = path
    while true {
      try checkFolders(from: try resolve(folder(of: name)), for: path)
      guard let target = FileDescriptor.target(ofLink: name) else { return resolved }
      name = target.hasPrefix("/") ? target : "\(folder(of: name))/\(target)"
    }
  }

  private static func checkFolders(from nearest: String, for path: String) throws(PlainError) {
    var folder = nearest
    var isNearest = true
    while true {
      let facts = try facts(of: folder)
      let isShared = facts.st_mode & mode_t(S_ISVTX) != 0
      guard facts.st_mode & writableByOthers == 0 || isShared && !isNearest else {
        throw othersCanWrite(folder, for: path)
      }
      if isNearest { try checkOwner(of: folder, facts, for: path) }
      guard folder != "/" else { return }
      folder = Self.folder(of: folder)
      isNearest = false
    }
  }

  private static func checkOwner(of file: String, _ facts: stat, for path: String) throws(PlainError) {
    guard facts.st_uid != 0, facts.st_uid != geteuid() else { return }
    throw PlainError(
      "the hook '\(path)' does not run, because '\(file)' belongs to another user; make yourself or root its owner")
  }

  private static func othersCanWrite(_ file: String, for path: String) -> PlainError {
    PlainError("the hook '\(path)' does not run, because others can write to '\(file)'; run: chmod go-w '\(file)'")
  }

  private static func resolve(_ path: String) throws(PlainError) -> String {
    guard let resolved = unsafe realpath(path, nil) else { throw unreadable(path) }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  private static func facts(of path: String) throws(PlainError) -> stat {
    var facts = stat()
    guard unsafe stat(path, &facts) == 0 else { throw unreadable(path) }
    return facts
  }

  private static func unreadable(_ path: String) -> PlainError {
    PlainError("cannot look at the hook '\(path)': \(SystemError.last("stat").message)")
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
