import CLinux
import Glibc
import NetwatchEventLoop

/// The socket that a service listens on. Its file goes with it, if it made the file.
public final class ListeningSocket {
  let descriptor: FileDescriptor
  let access: ServiceAddress.Access
  /// Held for as long as we listen: a second service can not take the file away from under us.
  private let lock: FileDescriptor?
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
    let lockFile = unsafe open(address.path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard lockFile >= 0 else { throw Self.failure("can not make \(address.path).lock") }
    let lock = FileDescriptor(owning: lockFile)
    guard flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 else { throw Self.inUse(address) }
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
    unsafe unlink(address.path + ".lock")
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
    throw failure("can not make \(address.path)")
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
