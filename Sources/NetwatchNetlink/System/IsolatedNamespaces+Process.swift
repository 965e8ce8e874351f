import CLibNetlink
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

extension IsolatedNamespaces {
  /// The namespaces that belong to this process alone, determined without any privilege.
  static var ofThisProcess: IsolatedNamespaces {
    var own = IsolatedNamespaces()
    if UserNamespace.isOwn { own.insert(.users) }
    if hasOwnNetwork { own.insert(.network) }
    return own
  }

  /// The index of the VRF to which each new socket of this process is bound, as `ip vrf exec` arranges it for a control group; 0
  /// for none, or if the process may not open a socket of IPv4.
  static var vrf: Int32 {
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return 0 }
    defer { close(descriptor) }
    var index: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(descriptor, SOL_SOCKET, bindToIndex, &index, &length) == 0 ? index : 0
  }

  /// SO_BINDTOIFINDEX of <asm-generic/socket.h>. Since Linux 5.0; older headers do not name it.
  private static let bindToIndex: CInt = 62

  /// Whether this process has its own network namespace. The kernel shows the settings of its receive path only in the
  /// machine's network namespace, and the longest backlog of a listening socket in each. False if /proc does not have them.
  private static var hasOwnNetwork: Bool {
    unsafe (access("/proc/sys/net/core/somaxconn", F_OK) == 0 && access("/proc/sys/net/core/netdev_budget", F_OK) != 0)
  }
}
