import CLinux
import Glibc
import NetwatchEventLoop

/// Connects to a service, as a client.
enum ServiceConnection {
  /// Connects to a service that may be believed: one of this user or of root.
  ///
  /// - Returns: nil if no such service listens.
  static func open(_ address: ServiceAddress) -> FileDescriptor? {
    guard let descriptor = connection(to: address) else { return nil }
    guard let peer = Peer(of: descriptor.rawValue), peer.isRoot || peer.isOwnUser else { return nil }
    return descriptor
  }

  /// - Returns: nil if nobody listens, or not for this user.
  private static func connection(to address: ServiceAddress) -> FileDescriptor? {
    let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return nil }
    let descriptor = FileDescriptor(owning: socket)
    // On a Unix socket this is done at once, or refused: EAGAIN says that too many wait.
    let result = try? unsafe address.withSocketAddress { unsafe connect(socket, $0, $1) }
    if result == 0 { return consume descriptor }
    return nil
  }

  /// The process that listens.
  static func owner(of address: ServiceAddress) -> CInt? {
    guard let descriptor = connection(to: address) else { return nil }
    return Peer(of: descriptor.rawValue)?.process
  }
}
