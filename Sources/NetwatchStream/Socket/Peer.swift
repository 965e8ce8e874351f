import CLinux
import NetwatchEventLoop
import NetwatchLibC

/// The process at the other end of a Unix socket: the one that listened for a client's socket, the one that connected for a
/// server's.
struct Peer {
  /// The number of the process; 0 if it is not in the PID namespace of this process.
  let process: CInt
  let user: uid_t

  /// Nil if the kernel does not report the peer.
  init?(of descriptor: CInt) {
    var credentials = peer_credentials()
    var length = socklen_t(MemoryLayout<peer_credentials>.size)
    guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
    process = credentials.process
    user = credentials.user
  }

  var isRoot: Bool { user == 0 }

  /// Whether the peer has the same user as this process. False if that cannot be determined.
  var isOwnUser: Bool { user == geteuid() && !UserNamespace.isAmbiguous(user) }
}
