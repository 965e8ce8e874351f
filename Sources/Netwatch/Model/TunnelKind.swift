/// The kind of a tunnel's link, named as in the kernel's IFLA_INFO_KIND.
public enum TunnelKind: String, Hashable, Sendable, CaseIterable {
  /// A tunnel, by the kernel's name for its driver. `tun` stands for both TUN and TAP devices.
  case wireguard, ovpn, tun, xfrm, vti, vti6, gre, gretap, erspan, ip6gre, ip6gretap, ip6erspan, ipip, sit, ip6tnl
  /// An overlay network over UDP, by the kernel's name for its driver.
  case vxlan, geneve
  /// A link that behaves like a tunnel but does not report which kind.
  case other = "tunnel"
}
