import CLibNetlink
import CLinuxLink
import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Asks the kernel for the routes of connections over netlink, and reports when routes may have changed. Needs no privilege.
///
/// Belongs to one thread, which also moves the data of transfers. So no question waits: the kernel answers during the send, a
/// question that it has no memory for is repeated at once, and a link's carrier is read by ioctl(2), because netlink would wait
/// for everybody who changes a link.
final class KernelRoutes {
  /// Links, addresses, routes and rules.
  private static let groups = [
    RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,
    RTNLGRP_IPV6_RULE,
  ]
  /// The kernel's LOOPBACK_IFINDEX, in every network namespace.
  private static let loopback: Int32 = 1

  private let conversation: NetlinkRequestSocket
  private let routes: RouteQueries
  /// Nil until somebody wants to know of changes.
  private var news: NetlinkSocket?

  /// - Throws: The error of the system if netlink is not permitted.
  init() throws(SystemError) {
    conversation = try NetlinkRequestSocket(.reply, of: .kernel, protocol: NETLINK_ROUTE, waits: false, log: nil)
    routes = RouteQueries(by: conversation) { _ in }
  }

  // MARK: News

  /// Calls `body` when links, addresses, routes or rules have changed.
  func onChange(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) -> EventLoop.Registration {
    let news = try NetlinkSocket()
    try news.makeNonBlocking()
    for group in Self.groups { try news.join(group) }
    // Since Linux 5.3.
    try? news.join(RTNLGRP_NEXTHOP)
    self.news = news
    return try loop.watch(news.descriptor, for: .readable) { _ in
      // The messages are not read, because the kernel is asked for the routes anyway. Dropped ones are a change, too.
      while let received = try? news.receive(), received != .wouldBlock {}
      body()
    }
  }

  // MARK: Questions

  /// Returns the route of a connection from its local address.
  func route(of connection: Connection) -> PeerRoute {
    switch ask(query(connection.local, scope: connection.scope)) {
    case .own: break
    case nil: return .unknown
    case .hop, .hops, .noRoute, .refused, .rules, .hostRoutes, .neighbours: return .localAddressGone
    }
    var query = query(connection.peer, scope: connection.scope)
    // Rules can select by protocol and port, and so does the choice between several next hops.
    (query.source, query.sourcePort, query.port) = (connection.local, connection.localPort, connection.peerPort)
    return route(query)
  }

  /// Returns the route to an address, from the local address that the kernel chooses.
  func route(to address: InternetAddress) -> PeerRoute { route(query(address, scope: 0)) }

  /// Whether the address is no address of this machine, as far as the kernel says.
  fileprivate func isOfAnotherMachine(_ address: InternetAddress) -> Bool {
    switch ask(query(address, scope: 0)) {
    case .hop, .hops, .noRoute: true
    case .own, .refused, .rules, .hostRoutes, .neighbours, nil: false
    }
  }

  private func query(_ address: InternetAddress, scope: Int32) -> RouteQuery {
    RouteQuery(address, user: geteuid(), link: address.isLinkLocal ? scope : 0)
  }

  private func route(_ query: RouteQuery) -> PeerRoute {
    switch ask(query) {
    case .hop(let hop): hasCarrier(hop.interfaceIndex) ? .link(hop.interfaceIndex) : .none
    case .hops(let hops): hops.first { hasCarrier($0.interfaceIndex) }.map { .link($0.interfaceIndex) } ?? .none
    case .own: .link(Self.loopback)
    case .noRoute, .refused, .rules, .hostRoutes, .neighbours: .none
    case nil: .unknown
    }
  }

  /// Nil if the kernel does not answer.
  private func ask(_ query: RouteQuery) -> RouteAnswer? { try? routes.ask(query) }

  /// Whether the link is up and has a carrier: IFF_RUNNING of netdevice(7). True if the kernel cannot be asked.
  private func hasCarrier(_ index: Int32) -> Bool {
    let flags = netwatch_link_flags(conversation.descriptor, index)
    return flags < 0 ? errno != ENODEV : UInt32(bitPattern: flags) & IFF_RUNNING.rawValue != 0
  }
}

extension InternetAddress {
  /// Whether the address is certainly not one of this machine. False for loopback, multicast and unspecified addresses, for an IPv4
  /// address in the form of IPv6, and if the kernel cannot be asked.
  package var isOfAnotherMachine: Bool {
    let isMapped = shares(96, with: .v6(0xffff_0000_0000))
    guard !isLoopback, !isUnspecified, !isMulticast, !isMapped, let routes = try? KernelRoutes() else { return false }
    return routes.isOfAnotherMachine(self)
  }
}

/// The path of this machine to the internet according to the kernel's routes, for a program without a `NetworkMonitor`.
///
/// If netlink is not permitted, it reports that there is a path.
package final class KernelPath: PathSource {
  /// Creates a path source.
  package init() {}

  /// Whether the kernel has a route to the internet. True if netlink is not permitted.
  package var hasPath: Bool {
    guard let routes = try? KernelRoutes() else { return true }
    return Destinations.internet.all.contains { routes.route(to: $0) != .none }
  }

  /// Always true: ``hasPath`` does not cover servers on the local network.
  package var isAboutInternetOnly: Bool { true }

  /// Returns an observation that never calls `body`, because a session observes the kernel's changes itself.
  package func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { self }
}
