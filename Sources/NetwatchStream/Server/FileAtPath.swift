import CLinux
import Glibc
import NetwatchEventLoop

/// What stands at a path, whoever has put it there: it is looked at, but neither opened nor followed to somewhere else.
struct FileAtPath: ~Copyable {
  private let descriptor: FileDescriptor
  private let status: stat

  /// Nil if there is nothing, or it cannot be looked at.
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

  /// Changes the mode of this very file, whatever stands at the path by now.
  ///
  /// - Returns: false if that failed; `errno` says why.
  func setMode(_ mode: mode_t) -> Bool { unsafe chmod("/proc/self/fd/\(descriptor.rawValue)", mode) == 0 }

  /// Removes what stands at a path if it is this file.
  static func remove(_ path: String, _ identity: FileIdentity) {
    guard let there = FileAtPath(path), there.identity == identity else { return }
    unsafe unlink(path)
  }
}
