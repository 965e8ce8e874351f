/// The reason why a path was published.
///
/// The reason of a loss names what took away the link that was published last. Later versions can add values, so give a
/// `switch` a `default`.
public enum ReachabilityReason: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// The path is the first one of a monitor, and it is reachable.
  case initial
  /// The target has become reachable.
  case routeUp = "route_up"
  /// The link works, but no route leads out.
  case noRoute = "no_route"
  /// A route forbids the way (unreachable, prohibit or blackhole), or leads into a link that drops everything.
  case routeUnreachable = "route_unreachable"
  /// The cable, the association with the access point, or the last running port is gone.
  case noCarrier = "no_carrier"
  /// The link waits for something, such as an authentication.
  case dormant
  /// The link was switched off, deleted or moved to another namespace.
  case linkDown = "link_down"
  /// The link has no address that traffic can come from.
  case noAddress = "no_address"
  /// The traffic goes over another kind of link.
  case mediumChanged = "medium_changed"
  /// The traffic goes over another link of the same kind, or its link has another name; or only the list of links has
  /// changed. While nothing is reachable, a path with another list of links keeps the reason for that.
  case interfaceChanged = "interface_changed"
  /// A source address, a gateway, a usable address family, or the cost of a link without WiFi has changed.
  case addressChanged = "address_changed"
  /// The same link carries another WiFi network, or the cost of the same network has changed.
  case networkChanged = "network_changed"
  /// The traffic now goes through a tunnel, or through another one.
  case vpnUp = "vpn_up"
  /// The traffic no longer goes through a tunnel.
  case vpnDown = "vpn_down"
  /// The route leads into a tunnel, and no known link could carry that tunnel.
  case vpnWithoutUnderlay = "vpn_without_underlay"
  /// The change was found when everything was read again after messages were lost.
  case resynced
  /// The change was found when everything was read again after a suspend.
  case resumed
  /// With the status not reachable: the name of the host has no address. With the status unknown: no resolver has answered for the
  /// name yet, or netlink cannot be read.
  case unresolved
  /// The connection to the service that reported the path is lost. Only event streams publish this; no monitor does.
  case serviceLost = "service_lost"
  /// The network namespace that the command has entered is gone, and nothing more can be known. Only event streams have this; no monitor
  /// publishes it.
  case namespaceEnded = "namespace_ended"
  /// The change was found when the rules of a person had changed.
  case rulesChanged = "rules_changed"
  /// Only the signal of the WiFi network has changed. Published only if ``MonitorConfiguration/wifi`` requests it.
  case signalChanged = "signal_changed"
  /// The same link has joined another access point of the same WiFi network. Published only if ``MonitorConfiguration/wifi``
  /// requests the signal, details or access points.
  case roamed
  /// A probe of the internet has another result than before. Published only if ``MonitorConfiguration/probe`` requests it.
  case internetChanged = "internet_changed"
  /// The network says something else about itself than before. Published only if ``MonitorConfiguration/hearsAnnouncements`` requests
  /// it.
  case announcementChanged = "announcement_changed"
  /// A link that could carry the traffic works in another way than before, and the path is the same. Published only if
  /// ``MonitorConfiguration/judgesUplinks`` is set.
  case uplinkChanged = "uplink_changed"
  /// The cable of the same link works in another way than before, such as at another speed. Published only if
  /// ``MonitorConfiguration/readsCable`` is set.
  case cableChanged = "cable_changed"
  /// The network lets traffic through for five more minutes or less. Published only if ``MonitorConfiguration/portalAPI`` is set.
  case sessionEnds = "session_ends"

  /// The reason in words, such as `no carrier`.
  public var description: String { rawValue.words }
}
