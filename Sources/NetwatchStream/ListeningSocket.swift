import CLinux
import Glibc
import NetwatchEventLoop

/// The socket that a service listens on. Its file goes with it, if it made the file.
public final class ListeningSocket {
  let descriptor: FileDescriptor
  let access: ServiceAddress.Access
  private let lock: SocketLock?
  private let address: ServiceAddress?

  private static let backlog: CInt = 512

  /// Takes over a socket that listens already, from whoever started this process.
  public init(inherited descriptor: CInt) throws(ServiceError) {
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
      throw ServiceError("descriptor \(descriptor) is no listening Unix socket; look at ListenStream= in the unit")
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    let path = unsafe withUnsafeBytes(of: &name.sun_path) {
      unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    self.descriptor = FileDescriptor(owning: descriptor)
    access = ServiceAddress(path: path).access
    lock = nil
    address = nil
  }

  /// Makes the socket; a file that a dead service has left is taken over.
  public init(at address: ServiceAddress) throws(ServiceError) {
    let (folder, _) = address.parts
    if address == .system { unsafe mkdir(folder, 0o755) }
    // A path that no socket can have shall not have a lock either.
    try unsafe address.withSocketAddress { _, _ in }
    guard let lock = try SocketLock(for: address) else { throw Self.inUse(address) }
    // A service of another kind, which does not know the lock.
    if ServiceConnection.owner(of: address) != nil { throw Self.inUse(address) }

    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { throw Self.failure("socket") }
    descriptor = FileDescriptor(owning: socket)
    access = address.access
    try Self.bind(socket, to: address)
    self.lock = consume lock
    self.address = address
    guard listen(socket, Self.backlog) == 0 else { throw Self.failure("listen") }
    // Also the sign for those who wait: the file was there before anyone listened.
    unsafe chmod(address.path, access == .everyone ? 0o666 : 0o600)
  }

  deinit {
    guard let address else { return }
    unsafe unlink(address.path)
  }

  private static func bind(_ socket: CInt, to address: ServiceAddress) throws(ServiceError) {
    // Between bind and chmod nobody else may connect.
    let mask = umask(0o177)
    defer { umask(mask) }
    for attempt in 0..<2 {
      let result = try unsafe address.withSocketAddress { unsafe Glibc.bind(socket, $0, $1) }
      if result == 0 { return }
      guard errno == EADDRINUSE, attempt == 0 else { break }
      var status = stat()
      guard unsafe lstat(address.path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
        throw ServiceError("\(address.path) is no socket; remove it, or name another with --socket")
      }
      unsafe unlink(address.path)
    }
    throw notMade(address.path)
  }

  fileprivate static func notMade(_ path: String) -> ServiceError {
    let code = errno
    let advice = code == ENOENT ? "make its folder, or name another socket" : "name another socket"
    return unsafe ServiceError(
      "can not make \(path): \(String(cString: strerror(code))); \(advice) with --socket", code: code)
  }

  private static func failure(_ what: String) -> ServiceError {
    let code = errno
    return unsafe ServiceError("\(what): \(String(cString: strerror(code)))", code: code)
  }

  private static func inUse(_ address: ServiceAddress) -> ServiceError {
    let owner = ServiceConnection.owner(of: address).map { " (process \($0))" } ?? ""
    return ServiceError(
      "another service\(owner) has \(address.path); use it, or name another with --socket", code: EADDRINUSE)
  }
}

/// Held for as long as we listen: a second service can not take the socket's file away from under us. Its own file goes with it.
private struct SocketLock: ~Copyable {
  private let descriptor: FileDescriptor
  private let path: String

  /// Nil if somebody else has it.
  init?(for address: ServiceAddress) throws(ServiceError) {
    let path = address.path + ".lock"
    while true {
      let number = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw ListeningSocket.notMade(path) }
      let descriptor = FileDescriptor(owning: number)
      guard flock(descriptor.rawValue, LOCK_EX | LOCK_NB) == 0 else { return nil }
      // The one before us may have removed the file after we opened it; then the lock says nothing.
      var (ours, there) = (stat(), stat())
      if unsafe fstat(descriptor.rawValue, &ours) == 0, unsafe stat(path, &there) == 0, ours.st_ino == there.st_ino {
        self.path = path
        self.descriptor = descriptor
        return
      }
    }
  }

  deinit { unsafe unlink(path) }
}
