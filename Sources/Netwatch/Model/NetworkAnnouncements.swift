/// What the network that carries a path has said about itself, to everybody in it. No packet is sent to hear it.
///
/// Routers say it by advertisements, which the kernel passes on and does not keep. So a monitor knows what was said since its start;
/// routers repeat it after some seconds to minutes. DHCP servers say it by leases, as far as this user may read them.
public struct NetworkAnnouncements: Hashable, Sendable {
  /// What the network says about its captive portal; nil if it has said nothing.
  public package(set) var portalAPI: PortalAPI?
  /// What the API at ``portalAPI`` has answered. Nil until it has, or unless ``MonitorConfiguration/portalAPI`` is set.
  public package(set) var captivePortal: CaptivePortal?

  package init(portalAPI: PortalAPI? = nil, captivePortal: CaptivePortal? = nil) {
    self.portalAPI = portalAPI
    self.captivePortal = captivePortal
  }
}

/// An option of a router advertisement that the kernel passes on to programs.
package struct RouterOption: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// The URI of the captive portal's API (RFC 8910, section 2.3).
    case captivePortal(PortalAPI)
    /// Name servers, and how long they may be used; nil for ever, zero for not any more (RFC 8106, section 5.1).
    case nameServers([InternetAddress], lifetime: Duration?)
  }

  /// The link over which the advertisement came.
  package let interfaceIndex: Int32
  package let content: Content

  package init(interfaceIndex: Int32, content: Content) {
    self.interfaceIndex = interfaceIndex
    self.content = content
  }
}
