/// Why a path was published.
///
/// A loss names what took the last published link away. Values may be added: give a `switch` a `default`.
public enum ReachabilityReason: String, Hashable, Sendable, CaseIterable {
  /// The first path of a monitor, and it is reachable.
  case initial
  /// It became reachable.
  case routeUp = "route_up"
  /// The link is there, but no route leads out.
  case noRoute = "no_route"
  /// A route says that there is no way: unreachable, prohibit or blackhole.
  case routeUnreachable = "route_unreachable"
  /// The cable, the association or the last running port is gone.
  case noCarrier = "no_carrier"
  /// The link waits for something, such as an authentication.
  case dormant
  /// The link was switched off, deleted or moved to another namespace.
  case linkDown = "link_down"
  /// The link has no address that traffic can come from.
  case noAddress = "no_address"
  case mediumChanged = "medium_changed"
  case interfaceChanged = "interface_changed"
  case addressChanged = "address_changed"
  /// The same link carries another WiFi network, or the same network may cost money now, or does not any more.
  case networkChanged = "network_changed"
  /// The traffic goes through a tunnel now, or another one.
  case vpnUp = "vpn_up"
  /// The traffic goes through no tunnel any more.
  case vpnDown = "vpn_down"
  /// The route leads into a tunnel, and nothing is known that could carry it.
  case vpnWithoutUnderlay = "vpn_without_underlay"
  /// Found when everything was read again after messages were lost.
  case resynced
  /// Found when everything was read again after a suspend.
  case resumed
  /// There is no answer: netlink cannot be read, or a name has no address.
  case unresolved
  case serviceLost = "service_lost"
  /// The signal of the WiFi network has changed, and nothing else. Only where ``MonitorConfiguration/wifi`` asks for it.
  case signalChanged = "signal_changed"
  /// The same link has joined another access point of the same WiFi network. Only where ``MonitorConfiguration/wifi`` asks for
  /// anything.
  case roamed
  /// A probe of the internet has found something else than before. In the event stream alone: no monitor probes.
  case internetChanged = "internet_changed"
}
