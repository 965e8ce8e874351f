import Glibc
import Netwatch
import NetwatchEventLoop

extension OwnNamespaces {
  /// The namespaces that this process has of its own, found out without any privilege.
  static var ofThisProcess: OwnNamespaces {
    var own = OwnNamespaces()
    if UserNamespace.isOwn { own.insert(.users) }
    if hasOwnNetwork { own.insert(.network) }
    return own
  }

  /// The kernel shows the settings of its receive path in the machine's own network namespace alone, and the longest
  /// backlog of a listening socket in each. False where /proc does not tell.
  private static var hasOwnNetwork: Bool {
    unsafe (access("/proc/sys/net/core/somaxconn", F_OK) == 0 && access("/proc/sys/net/core/netdev_budget", F_OK) != 0)
  }
}
