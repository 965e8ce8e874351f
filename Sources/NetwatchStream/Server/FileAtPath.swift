import CLinux
import Glibc
import NetwatchEventLoop

/// A file at a path, whichever user has created it. It is examined, but it is not opened for reading, and links are not
/// followed.
struct FileAtPath: ~Copyable {
  private let descriptor: FileDescriptor
  private let status: stat

  /// Nil if there is no file at the path, or it cannot be examined.
  init?(_ path: String) {
    let number = unsafe open(path, netwatch_open_path | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let descriptor = FileDescriptor(owning: number)
    var status = stat()
    guard unsafe fstat(number, &status) == 0 else { return nil }
    self.descriptor = descriptor
    self.status = status
  }

  var identity: FileIdentity { FileIdentity(status) }
  var isSocket: Bool { status.st_mode & S_IFMT == S_IFSOCK }
  var isOwn: Bool { status.st_uid == geteuid() }

  /// Changes the mode of this file, even if another file is at the path by now.
  ///
  /// - Returns: False if that failed; the reason is in `errno`.
  func setMode(_ mode: mode_t) -> Bool { unsafe chmod("/proc/self/fd/\(descriptor.rawValue)", mode) == 0 }

  /// Removes the file at a path if it is the one with this identity.
  static func remove(_ path: String, _ identity: FileIdentity) {
    guard let there = FileAtPath(path), there.identity == identity else { return }
    unsafe unlink(path)
  }
}
