import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The Unix socket that a service listens on. If this object has created the socket's file, it removes the file at its end.
package final class ListeningSocket {
  let descriptor: FileDescriptor
  /// Whether any user may connect.
  let servesEveryone: Bool
  private let lock: SocketLock?
  /// The file that this object has created; nil if the socket was inherited.
  private let file: (path: String, identity: FileIdentity)?

  private static let backlog: CInt = 512

  /// Takes over a socket that already listens, from the process that started this one (such as systemd).
  ///
  /// - Throws: A `PlainError` if the descriptor is not a listening Unix socket.
  package init(inherited descriptor: CInt) throws(PlainError) {
    var isListening: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    var name = sockaddr_un()
    var nameLength = socklen_t(MemoryLayout<sockaddr_un>.size)
    let isSocket = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0
    let hasName = unsafe withUnsafeMutablePointer(to: &name) {
      unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &nameLength) == 0
      }
    }
    guard isSocket, hasName, isListening != 0, name.sun_family == sa_family_t(AF_UNIX) else {
      throw PlainError("descriptor \(descriptor) is no listening Unix socket; look at ListenStream= in the unit")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    let path = unsafe withUnsafeBytes(of: &name.sun_path) {
      unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    self.descriptor = FileDescriptor(owning: descriptor)
    servesEveryone = ServiceAddress(path: path).servesEveryone
    lock = nil
    file = nil
  }

  /// Creates the socket and listens. A socket's file that an ended service has left is replaced.
  ///
  /// - Throws: A `PlainError` if another service listens at the address, or the socket cannot be created.
  package init(at address: ServiceAddress) throws(PlainError) {
    let (folder, _) = address.parts
    if address == .system { unsafe mkdir(folder, 0o755) }
    // A path that is invalid for a socket must not get a lock's file either.
    try unsafe address.withSocketAddress { _, _ in }
    guard let lock = try SocketLock(for: address) else { throw Self.inUse(address) }
    // A service of another kind may not use the lock, so the address is also tried.
    if address.listener != nil { throw Self.inUse(address) }

    let socket = NetwatchLibC.socket(
      AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { throw Self.failure("socket") }
    descriptor = FileDescriptor(owning: socket)
    servesEveryone = address.servesEveryone
    let mode: mode_t = servesEveryone ? 0o666 : 0o600
    // The file gets the mode of its socket, less the umask, so that no other user can connect in between.
    guard fchmod(socket, mode) == 0 else { throw Self.failure("fchmod") }
    try Self.bind(socket, to: address)
    guard let made = FileAtPath(address.path), made.isSocket, made.isOwn else { throw .notMade(address.path) }
    self.lock = consume lock
    file = (address.path, made.identity)
    guard listen(socket, Self.backlog) == 0 else { throw Self.failure("listen") }
    // The change of mode also notifies clients that wait: the file existed before this service listened.
    if !made.setMode(mode), servesEveryone { throw Self.failure("chmod \(address.path)") }
  }

  deinit { if let file { FileAtPath.remove(file.path, file.identity) } }

  private static func bind(_ socket: CInt, to address: ServiceAddress) throws(PlainError) {
    for attempt in 0..<2 {
      let result = try unsafe address.withSocketAddress { unsafe NetwatchLibC.bind(socket, $0, $1) }
      if result == 0 { return }
      guard errno == EADDRINUSE, attempt == 0 else { break }
      guard let old = FileAtPath(address.path) else { continue }
      guard old.isSocket else {
        throw PlainError("\(address.path) is no socket; remove it, or name another with --socket")
      }
      guard old.isOwn else {
        throw PlainError("\(address.path) belongs to another user; remove it, or name another with --socket")
      }
      FileAtPath.remove(address.path, old.identity)
    }
    throw .notMade(address.path)
  }

  private static func failure(_ what: String) -> PlainError {
    PlainError("\(SystemError.last(what))")
  }

  private static func inUse(_ address: ServiceAddress) -> PlainError {
    let owner = address.listener.map { " (process \($0))" } ?? ""
    return PlainError("another service\(owner) has \(address.path); use it, or name another with --socket")
  }
}

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
  fileprivate var isSocket: Bool { status.st_mode & S_IFMT == S_IFSOCK }
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
