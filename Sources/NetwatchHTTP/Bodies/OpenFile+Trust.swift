import Glibc

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
