import Glibc

/// Files that a download has left for the next one, in folders where others may write, too.
///
/// What is looked at is the file that is open, never a name: a name may be another file's by then.
extension OpenFile {
  /// Nobody else may write while it is being written. At the end it has the rights that the process gives its files.
  static let rights: mode_t = 0o644
  /// Somebody who makes files as fast as they are removed does not keep a download busy for ever.
  private static let mostAttempts = 100

  /// Whether nobody else can have written it: it is this user's, he alone may write it, and it has no other name.
  var isOurs: Bool {
    var status = stat()
    return unsafe fstat(number, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
      && status.st_nlink == 1 && status.st_mode & (S_IWGRP | S_IWOTH) == 0
  }

  /// Nil for what is not there, or not ``isOurs``. A symbolic link is not followed.
  static func openTrusted(_ path: String) -> OpenFile? {
    // Without O_NONBLOCK, a named pipe would wait for its other end.
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    let file = OpenFile(owning: descriptor)
    return file.isOurs ? file : nil
  }

  /// A new and empty file. What has the name already, such as a link that somebody has put there, is removed.
  static func createTrusted(_ path: String, rights: mode_t) throws(HTTPError) -> OpenFile {
    _ = unsafe unlink(path)
    let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, rights)
    guard descriptor >= 0 else { throw HTTPError(file: path, "open") }
    return OpenFile(owning: descriptor)
  }

  /// The file of that name if it is ``isOurs``, else a new one in its place. No other download has it, now or later.
  static func openLocked(_ path: String) throws(HTTPError) -> OpenFile {
    for _ in 0..<mostAttempts {
      if let file = try openOnce(path) { return file }
    }
    throw HTTPError(.fileFailed, "open \(path)", message: "somebody replaces it again and again")
  }

  /// Nil if the name has become another file's meanwhile, or none's.
  private static func openOnce(_ path: String) throws(HTTPError) -> OpenFile? {
    let common = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    var descriptor = unsafe Glibc.open(path, common | O_CREAT | O_EXCL, rights)
    let isNew = descriptor >= 0
    if !isNew, errno == EEXIST {
      descriptor = unsafe Glibc.open(path, common)
      if descriptor < 0, errno == ENOENT { return nil }
    }
    guard descriptor >= 0 else { throw HTTPError(file: path, "open") }
    let file = OpenFile(owning: descriptor)
    guard file.size() != nil else { throw HTTPError(.fileFailed, "open \(path)", message: "not a regular file") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      guard errno == EWOULDBLOCK else { throw HTTPError(file: path, "lock") }
      throw HTTPError(.fileFailed, "lock \(path)", code: errno, message: "another download writes into it")
    }
    // Whoever had it before may have put it into its place since it was opened here: then it is no partial file any more.
    guard file.isNamed(path) else { return nil }
    if isNew || file.isOurs { return file }
    guard unsafe unlink(path) == 0 || errno == ENOENT else {
      throw HTTPError(
        .fileFailed, "continue \(path)", code: errno,
        message: "others may have written it, and it cannot be removed; remove it or choose another folder")
    }
    return nil
  }

  /// Whether a name is this file's.
  func isNamed(_ path: String) -> Bool {
    var (own, named) = (stat(), stat())
    return unsafe fstat(number, &own) == 0 && lstat(path, &named) == 0 && own.st_ino == named.st_ino
      && own.st_dev == named.st_dev
  }

  /// Gives the file the rights that the process gives its files: by its umask, or by the folder's default access list.
  ///
  /// - Parameter name: of a file that is made to see them, and removed at once.
  func takeRights(of name: String) {
    guard let sample = try? Self.createTrusted(name, rights: 0o666) else { return }
    _ = unsafe unlink(name)
    var (wanted, own) = (stat(), stat())
    guard unsafe fstat(sample.number, &wanted) == 0, unsafe fstat(number, &own) == 0,
      wanted.st_mode != own.st_mode
    else { return }
    // Not every file system has rights; then there is nothing to give.
    _ = fchmod(number, wanted.st_mode & 0o777)
  }
}
