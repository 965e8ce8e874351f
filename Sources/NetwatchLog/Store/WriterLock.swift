import CLinux
import NetwatchEventLoop
import NetwatchLibC

/// Byte locks on a file beside the database. The kernel releases them when their process ends, for whatever reason. Unlike
/// process numbers, they also work across containers.
final class WriterLock {
  /// A byte of the file, and its meaning.
  enum Byte {
    /// Held while a writer opens the database.
    case opening
    /// Held by the writer that stores traffic. There is only one at a time, so that no byte is counted twice.
    case traffic
    /// Held by a writer as long as its run lasts.
    case run(Int64)

    fileprivate var offset: Int64 {
      switch self {
      case .opening: 0
      case .traffic: 1
      case .run(let id): 2 + min(max(id, 0), Int64.max - 2)
      }
    }
  }

  private let descriptor: CInt

  /// Opens the file of a writer, and creates it if there is none.
  init(writingIn folder: borrowing TrustedPath) throws(SystemError) {
    descriptor = unsafe openat(
      folder.descriptor.rawValue, LogPlace.lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw .last("open") }
  }

  /// Opens the file of other processes' locks. Nil if there is none.
  init?(readingIn folder: String) {
    descriptor = unsafe open("\(folder)/\(LogPlace.lock)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
  }

  deinit { close(descriptor) }

  /// Takes a lock. Returns false if another process has it and `waiting` is false.
  func take(_ byte: Byte, waiting: Bool = false) -> Bool {
    var lock = request(byte, F_WRLCK)
    while unsafe netwatch_lock(descriptor, waiting, &lock) != 0 { guard errno == EINTR else { return false } }
    return true
  }

  func release(_ byte: Byte) {
    var lock = request(byte, F_UNLCK)
    _ = unsafe netwatch_lock(descriptor, false, &lock)
  }

  /// Returns whether another open file holds the lock.
  func isHeld(_ byte: Byte) -> Bool {
    var lock = request(byte, F_WRLCK)
    return unsafe netwatch_query_lock(descriptor, &lock) == 0 && lock.l_type != F_UNLCK
  }

  private func request(_ byte: Byte, _ type: CInt) -> flock {
    var lock = flock()
    lock.l_type = Int16(type)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = Int(byte.offset)
    lock.l_len = 1
    return lock
  }
}
