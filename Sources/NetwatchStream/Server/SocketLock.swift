import Glibc
import Netwatch
import NetwatchEventLoop

/// The lock that a service holds as long as it listens, so that a second service cannot replace the socket's file. The lock
/// removes its own file at its end.
struct SocketLock: ~Copyable {
  private let descriptor: FileDescriptor
  private let path: String
  private let identity: FileIdentity

  /// Takes the lock. Nil if another process holds it.
  ///
  /// - Throws: A `PlainError` if the lock's file cannot be created, or is not a plain file of this user.
  init?(for address: ServiceAddress) throws(PlainError) {
    let path = address.path + ".lock"
    while true {
      // Others may also write to the folder. A file that another user has put here must not be locked or changed.
      let number = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw errno == ELOOP ? Self.notOurs(path) : .notMade(path) }
      let descriptor = FileDescriptor(owning: number)
      var status = stat()
      guard unsafe fstat(number, &status) == 0 else { throw .notMade(path) }
      guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(), status.st_nlink <= 1 else {
        throw Self.notOurs(path)
      }
      guard fchmod(number, 0o600) == 0 else { throw .notMade(path) }
      guard flock(number, LOCK_EX | LOCK_NB) == 0 else { return nil }
      // The previous holder may have removed the file after it was opened here. Then the lock protects nothing, so try again.
      let identity = FileIdentity(status)
      if let there = FileAtPath(path), there.identity == identity {
        self.path = path
        self.descriptor = descriptor
        self.identity = identity
        return
      }
    }
  }

  deinit { FileAtPath.remove(path, identity) }

  private static func notOurs(_ path: String) -> PlainError {
    PlainError("\(path) is not a plain file of this user; remove it, or name another socket with --socket")
  }
}
