import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop

/// Checks that no IPv4 route leads to the internet, which takes 1.1 microseconds. Two questions by netlink take 3.1.
///
/// connect(2) on a datagram socket looks a route up as RTM_GETROUTE does for IPv4, and sends nothing. Only the error that there is
/// no route counts. In any other case, netlink has to be asked. There is no check for IPv6: RTM_GETROUTE asks there for no
/// protocol, and a socket asks for UDP.
///
/// connect(2) also has a port of its own, and looks the route up again with the source that the first lookup has found. A rule could
/// forbid these, and RTM_GETROUTE would not notice. So there is no check as long as ``rules`` are not known, or select by such
/// things.
///
/// The check belongs to the thread of its source's loop.
final class NoRouteCheck {
  private let descriptor: FileDescriptor
  private let first: sockaddr_in
  private let last: sockaddr_in
  /// Whether the socket has a port. The kernel chooses one before it looks a route up.
  private var hasPort = false
  /// Whether the rules treat the socket as they treat RTM_GETROUTE.
  private var suitsRules = false
  /// Whether somebody has asked without the rules.
  private(set) var wantsRules = false
  /// The IPv4 rules that choose the routing table. Nil if they are not known. Set them when ``wantsRules`` is true.
  var rules: [RoutingRule]? {
    didSet {
      wantsRules = false
      suitsRules = rules?.allSatisfy { !$0.hasOtherSelectors && $0.users == nil } ?? false
    }
  }

  /// Opens the socket.
  ///
  /// Nil if the kernel would not ask as for RTM_GETROUTE: another user's rules would apply, or somebody has bound or marked the
  /// socket, as `ip vrf exec` does. Also nil if datagram sockets are forbidden, as in the systemd units.
  init?() {
    guard getuid() == geteuid(), case .v4(let first)? = Destinations.internet.ipv4.first,
      case .v4(let last)? = Destinations.internet.ipv4.last,
      let descriptor = try? FileDescriptor.result(of: "socket", socket(AF_INET, netwatch_datagram_socket, 0)),
      Self.isZero(SO_MARK, of: descriptor), Self.isZero(SO_BINDTOIFINDEX, of: descriptor)
    else { return nil }
    self.descriptor = descriptor
    self.first = Self.name(first)
    self.last = Self.name(last)
  }

  /// Returns whether neither the first nor the last address of ``Destinations/internet`` has a route. False if that is not known.
  func findsNone() -> Bool {
    guard suitsRules else {
      wantsRules = rules == nil
      return false
    }
    // The source of an earlier lookup may be gone, and would be asked for again.
    giveBackPort()
    hasPort = true
    return hasNoRoute(to: first) && hasNoRoute(to: last)
  }

  /// Gives the port back, so that no packet from elsewhere finds an open one. Call it when there is time.
  func giveBackPort() {
    guard hasPort else { return }
    hasPort = false
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_UNSPEC)
    _ = connect(to: name)
  }

  private func hasNoRoute(to name: sockaddr_in) -> Bool { connect(to: name) != 0 && errno == ENETUNREACH }

  private func connect(to name: sockaddr_in) -> CInt {
    unsafe withUnsafePointer(to: name) { name in
      unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe Glibc.connect(descriptor.rawValue, name, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  private static func name(_ bits: UInt32) -> sockaddr_in {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = bits.bigEndian
    return name
  }

  private static func isZero(_ option: CInt, of descriptor: borrowing FileDescriptor) -> Bool {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return unsafe getsockopt(descriptor.rawValue, SOL_SOCKET, option, &value, &length) == 0 && value == 0
  }
}
