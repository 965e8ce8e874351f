import Glibc
import Netwatch
import NetwatchEventLoop

/// Held for as long as we listen: a second service cannot take the socket's file away from under us. Its own file goes with it.
struct SocketLock: ~Copyable {
  private let descriptor: FileDescriptor
  private let path: String
  private let identity: FileIdentity

  /// Nil if somebody else has it.
  init?(for address: ServiceAddress) throws(PlainError) {
    let path = address.path + ".lock"
    while true {
      // Others may write to the folder as well, and what they put here is not ours to lock or to change.
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
      // The one before us may have removed the file after we opened it; then the lock says nothing.
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
