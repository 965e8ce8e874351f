import Glibc

/// Where a service listens.
public struct ServiceAddress: Hashable, Sendable {
  public let path: String

  /// Whom a socket serves.
  public enum Access: Hashable, Sendable {
    /// Its owner alone; mode 0600.
    case owner
    /// Any user may read, its owner and root may begin requests; mode 0666.
    case everyone
  }

  public init(path: String) { self.path = path }

  /// The service of the whole machine.
  public static let system = ServiceAddress(path: "/run/netwatch/netwatch.sock")

  public var access: Access { self == .system ? .everyone : .owner }

  /// Where a client looks, in this order: `$NETWATCH_SOCKET`, the user's own, the system's.
  public static var candidates: [ServiceAddress] { explicit.map { [$0] } ?? (user.map { [$0, .system] } ?? [.system]) }

  /// Where a service listens unless it is told.
  ///
  /// - Throws: where there is neither `$NETWATCH_SOCKET` nor a folder of the user's for this login.
  public static func standard() throws(ServiceError) -> ServiceAddress {
    if let explicit { return explicit }
    if let user { return user }
    if geteuid() == 0 { return .system }
    throw ServiceError("there is no XDG_RUNTIME_DIR to put the socket into; name one with --socket")
  }

  private static var explicit: ServiceAddress? {
    environment("NETWATCH_SOCKET").map { ServiceAddress(path: $0) }
  }

  private static var user: ServiceAddress? {
    environment("XDG_RUNTIME_DIR").map { ServiceAddress(path: $0 + "/netwatch.sock") }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name), unsafe value.pointee != 0 else { return nil }
    return unsafe String(cString: value)
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
  ) throws(ServiceError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard path.utf8.count < capacity, !path.isEmpty else {
      throw ServiceError("a socket's path has 1 to \(capacity - 1) bytes; '\(path)' has \(path.utf8.count)")
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
}

/// Why a service could not start, or could not be reached: one sentence.
public struct ServiceError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String
  /// The system's error number; 0 where there is none.
  public let code: CInt

  init(_ description: String, code: CInt = 0) {
    self.description = description
    self.code = code
  }

  /// The error of the call that could not make the file at `path`.
  static func notMade(_ path: String) -> ServiceError {
    let code = errno
    let advice = code == ENOENT ? "make its folder, or name another socket" : "name another socket"
    return unsafe ServiceError(
      "can not make \(path): \(String(cString: strerror(code))); \(advice) with --socket", code: code)
  }
}
