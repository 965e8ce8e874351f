import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// The Unix socket that a service listens on.
package struct ServiceAddress: Hashable, Sendable {
  package let path: String

  package init(path: String) { self.path = path }

  /// The service of the whole machine.
  package static let system = ServiceAddress(path: "/run/netwatch/netwatch.sock")

  /// Whether any user may read, and the owner and root may begin requests; the socket's mode is 0666. Any other socket
  /// serves its owner alone, and has the mode 0600.
  var servesEveryone: Bool { self == .system }

  /// The addresses that a client tries, in this order: `$NETWATCH_SOCKET`; or the user's own, then the system's.
  package static var candidates: [ServiceAddress] {
    explicit.map { [$0] } ?? (user.map { [$0, .system] } ?? [.system])
  }

  /// The address that a service listens on unless it is given one.
  ///
  /// - Throws: An error if there is neither `$NETWATCH_SOCKET` nor `$XDG_RUNTIME_DIR`, and the user is not root.
  package static func standard() throws(PlainError) -> ServiceAddress {
    if let explicit { return explicit }
    if let user { return user }
    if geteuid() == 0 { return .system }
    throw PlainError("there is no XDG_RUNTIME_DIR to put the socket into; name one with --socket")
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

  /// The folder and the name in it.
  var parts: (folder: String, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    return (folder, String(path[path.index(after: slash)...]))
  }

  /// Calls `body` with the address as the kernel wants it.
  func withSocketAddress<Result>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) throws(PlainError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < capacity, !path.isEmpty else {
      throw PlainError("a socket's path has 1 to \(capacity - 1) bytes; '\(path)' has \(path.utf8.count)")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      for (offset, byte) in path.utf8.enumerated() { unsafe place[offset] = byte }
    }
    return unsafe withUnsafePointer(to: &address) { address in
      unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe body(address, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  // MARK: Connecting

  /// Connects to the service if it may be believed: if it belongs to this user or to root.
  ///
  /// - Returns: Nil if no such service listens.
  func connect() -> FileDescriptor? {
    guard let descriptor = anyConnection() else { return nil }
    guard let peer = Peer(of: descriptor.rawValue), peer.isRoot || peer.isOwnUser else { return nil }
    return descriptor
  }

  /// The process that listens; nil if there is none, or not for this user.
  var listener: CInt? {
    guard let descriptor = anyConnection() else { return nil }
    return Peer(of: descriptor.rawValue)?.process
  }

  private func anyConnection() -> FileDescriptor? {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return nil }
    let descriptor = FileDescriptor(owning: socket)
    // On a Unix socket this is done at once, or refused: EAGAIN says that too many wait.
    let result = try? unsafe withSocketAddress { unsafe Glibc.connect(socket, $0, $1) }
    if result == 0 { return consume descriptor }
    return nil
  }
}

extension PlainError {
  /// Why a socket or its lock could not be made, from `errno`.
  static func notMade(_ path: String) -> PlainError {
    let failure = SystemError.last("make \(path)")
    let advice = failure.code == ENOENT ? "make its folder, or name another socket" : "name another socket"
    return PlainError("cannot make \(path): \(failure.message); \(advice) with --socket")
  }
}
