/// The kinds of links that are tunnels: IFLA_INFO_KIND.
public enum TunnelKind: String, Hashable, Sendable, CaseIterable {
  case wireguard, ovpn, tun, xfrm, vti, vti6, gre, gretap, erspan, ip6gre, ip6gretap, ip6erspan, ipip, sit, ip6tnl
  case vxlan, geneve
  /// It behaves like one, and does not say which.
  case other = "tunnel"
}
