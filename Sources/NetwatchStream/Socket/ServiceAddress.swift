import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The address of a service: the path of the Unix socket that it listens on.
package struct ServiceAddress: Hashable, Sendable {
  /// The path of the socket's file.
  package let path: String

  /// Creates an address from a path.
  package init(path: String) { self.path = path }

  /// The address of the service of the whole machine.
  package static let system = ServiceAddress(path: "/run/netwatch/netwatch.sock")

  /// Whether every user may read; then only the owner and root may begin requests, and the socket's mode is 0666. Any other
  /// socket serves only its owner, and has the mode 0600.
  var servesEveryone: Bool { self == .system }

  /// The addresses that a client tries, in this order: `$NETWATCH_SOCKET` alone if it is set; else the user's, then the
  /// machine's.
  package static var candidates: [ServiceAddress] {
    explicit.map { [$0] } ?? (user.map { [$0, .system] } ?? [.system])
  }

  /// The address that a service listens on if none is given: `$NETWATCH_SOCKET`, else the user's; for root without either, the
  /// machine's.
  ///
  /// - Throws: A `PlainError` if neither `$NETWATCH_SOCKET` nor `$XDG_RUNTIME_DIR` is set and the user is not root.
  package static func standard() throws(PlainError) -> ServiceAddress {
    if let explicit { return explicit }
    if let user { return user }
    if geteuid() == 0 { return .system }
    throw PlainError(
      "there is no XDG_RUNTIME_DIR for the socket; set NETWATCH_SOCKET to its path, here and for all that uses the service"
    )
  }

  private static var explicit: ServiceAddress? {
    environment("NETWATCH_SOCKET").map { ServiceAddress(path: $0) }
  }

  private static var user: ServiceAddress? {
    environment("XDG_RUNTIME_DIR").map { ServiceAddress(path: $0 + "/netwatch.sock") }
  }

  private static func environment(_ name: String) -> String? {
    String(environment: name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The folder, and the name of the file in it.
  var parts: (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    return (folder, String(path[path.index(after: slash)...]))
  }

  /// Calls `body` with the address in the kernel's form. Throws if the path is too long for a socket, or empty.
  func withSocketAddress<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws(PlainError) -> Result {
    do throws(SystemError) {
      return try unsafe UnixSocket.withAddress(path, body)
    } catch {
      throw PlainError("a socket's path has 1 to \(UnixSocket.longestPath) bytes; '\(path)' has \(path.utf8.count)")
    }
  }

  // MARK: Connecting

  /// Connects to the service if it can be trusted: if it belongs to this user or to root.
  ///
  /// - Throws: A `SystemError`: `EAGAIN` if too many connections wait for the service, `EPERM` if the service cannot be trusted,
  ///   and other errors of the system, such as `ENOENT` or `ECONNREFUSED` if no service listens.
  func connect() throws(SystemError) -> FileDescriptor {
    let descriptor = try UnixSocket.connect(to: path)
    guard let peer = Peer(of: descriptor.rawValue), peer.isRoot || peer.isOwnUser else {
      throw SystemError(operation: "connect", code: EPERM)
    }
    return descriptor
  }

  /// The process that listens; nil if there is none, or this user may not connect.
  var listener: CInt? {
    guard let descriptor = try? UnixSocket.connect(to: path) else { return nil }
    return Peer(of: descriptor.rawValue)?.process
  }
}

extension PlainError {
  /// The error that a socket or its lock could not be created; the reason is from `errno`.
  static func notMade(_ path: String) -> PlainError {
    let failure = SystemError.last("make \(path)")
    let advice = failure.code == ENOENT ? "make its folder, or name another socket" : "name another socket"
    return PlainError("cannot make \(path): \(failure.message); \(advice) with --socket")
  }
}
