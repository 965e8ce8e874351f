import Glibc
import Netwatch
import NetwatchEventLoop

extension OwnNamespaces {
  /// The namespaces that belong to this process alone, determined without any privilege.
  static var ofThisProcess: OwnNamespaces {
    var own = OwnNamespaces()
    if UserNamespace.isOwn { own.insert(.users) }
    if hasOwnNetwork { own.insert(.network) }
    return own
  }

  /// Whether this process has its own network namespace. The kernel shows the settings of its receive path only in the
  /// machine's network namespace, and the longest backlog of a listening socket in each. False if /proc does not have them.
  private static var hasOwnNetwork: Bool {
    unsafe (access("/proc/sys/net/core/somaxconn", F_OK) == 0 && access("/proc/sys/net/core/netdev_budget", F_OK) != 0)
  }
}
