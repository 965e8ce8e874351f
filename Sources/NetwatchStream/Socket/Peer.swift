import CLinux
import Glibc
import NetwatchEventLoop

/// The process at the other end of a Unix socket: of a client's socket the one that listened, of a server's the one that
/// connected.
struct Peer {
  /// 0 if the process is not in our PID namespace.
  let process: CInt
  let user: uid_t

  /// Nil if the kernel does not tell.
  init?(of descriptor: CInt) {
    var credentials = peer_credentials()
    var length = socklen_t(MemoryLayout<peer_credentials>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
    process = credentials.process
    user = credentials.user
  }

  var isRoot: Bool { user == 0 }

  /// Whether the peer belongs to the user of this process. No, if that cannot be told.
  var isOwnUser: Bool { user == geteuid() && !UserNamespace.isAmbiguous(user) }
}
