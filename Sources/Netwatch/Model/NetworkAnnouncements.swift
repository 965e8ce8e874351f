/// What the network that carries a path has said about itself, to everybody in it. No packet is sent to hear it.
///
/// Routers say it by advertisements, which the kernel passes on and does not keep. So a monitor knows what was said since its start;
/// routers repeat it after some seconds to minutes. DHCP servers say it by leases, as far as this user may read them.
public struct NetworkAnnouncements: Hashable, Sendable {
  /// What the network says about its captive portal; nil if it has said nothing.
  public package(set) var portalAPI: PortalAPI?
  /// What the API at ``portalAPI`` has answered. Nil until it has, or unless ``MonitorConfiguration/portalAPI`` is set.
  public package(set) var captivePortal: CaptivePortal?

  /// The prefix by which the network translates between IPv6 and IPv4 (NAT64, RFC 8781); nil if no router has said so.
  /// ``NetworkPath/translation`` says who translates the IPv4 of this machine.
  public package(set) var translationPrefix: NAT64Prefix?

  /// The name servers that the network has named: by DHCP or the program that manages the link, then by router advertisements. Programs
  /// of this machine may be configured to ask others.
  public package(set) var nameServers: [InternetAddress]

  package init(
    portalAPI: PortalAPI? = nil, captivePortal: CaptivePortal? = nil, translationPrefix: NAT64Prefix? = nil,
    nameServers: [InternetAddress] = []
  ) {
    self.nameServers = nameServers
    self.portalAPI = portalAPI
    self.captivePortal = captivePortal
    self.translationPrefix = translationPrefix
  }
}

/// An option of a router advertisement that the kernel passes on to programs.
package struct RouterOption: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// The URI of the captive portal's API (RFC 8910, section 2.3).
    case captivePortal(PortalAPI)
    /// Name servers, and how long they may be used; nil for ever, zero for not any more (RFC 8106, section 5.1).
    case nameServers([InternetAddress], lifetime: Duration?)
    /// The prefix of NAT64, and how long it counts; zero for not any more (RFC 8781, section 4).
    case translationPrefix(NAT64Prefix, lifetime: Duration)
  }

  /// The link over which the advertisement came.
  package let interfaceIndex: Int32
  package let content: Content

  package init(interfaceIndex: Int32, content: Content) {
    self.interfaceIndex = interfaceIndex
    self.content = content
  }
}
