/// What a link stands on, by its driver's kind.
package enum LinkRole: Hashable, Sendable {
  /// Hardware, or software that stands on nothing else of this machine.
  case base
  /// It packs its traffic up and sends it over another link, which only the routes tell.
  case tunnel(TunnelKind)
  /// It stands on one other link, which the kernel names.
  case stacked
  /// It stands on its ports: the links whose master it is.
  case aggregate
  /// It leads nowhere: what is sent there is dropped or turned back. Kill switches use one.
  case sink

  package init(kind: String?, hardwareType: UInt16, device: DeviceTraits) {
    switch kind {
    case "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec": self = .stacked
    case "bond", "bridge", "team", "vrf": self = .aggregate
    case "dummy", "ifb", "nlmon": self = .sink
    default:
      // Modems without an Ethernet header look like tunnels but for their DEVTYPE.
      let looksLikeOne = device.type != "wwan" && HardwareType.tunnels.contains(hardwareType)
      let tunnel = kind.flatMap(TunnelKind.init) ?? (looksLikeOne ? .other : nil)
      self = tunnel.map(LinkRole.tunnel) ?? .base
    }
  }

  package var tunnelKind: TunnelKind? {
    if case .tunnel(let kind) = self { kind } else { nil }
  }

  private enum HardwareType {
    /// ARPHRD_NONE, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE of <linux/if_arp.h>.
    static let tunnels: Set<UInt16> = [0xfffe, 768, 769, 776, 778, 823]
  }
}

/// The kinds of links that are tunnels: IFLA_INFO_KIND.
public enum TunnelKind: String, Hashable, Sendable, CaseIterable {
  case wireguard, ovpn, tun, xfrm, vti, vti6, gre, gretap, erspan, ip6gre, ip6gretap, ip6erspan, ipip, sit, ip6tnl
  case vxlan, geneve
  /// It behaves like one, and does not say which.
  case other = "tunnel"
}

/// The tunnel that traffic leaves by.
public struct VPN: Hashable, Sendable {
  package let kernelName: InterfaceName
  /// The number of the tunnel's link.
  public let interfaceIndex: Int32
  /// What kind of tunnel it is.
  public let kind: TunnelKind
  /// Whether it is known over which link the tunnel's own packets leave. If not, ``NetworkPath/interfaceName`` is the
  /// tunnel's, because more than one link could carry it and nothing tells which one does.
  public let isCarrierKnown: Bool

  package init(kernelName: InterfaceName, interfaceIndex: Int32, kind: TunnelKind, isCarrierKnown: Bool = true) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.kind = kind
    self.isCarrierKnown = isCarrierKnown
  }

  /// The name of its link, such as `wg0`.
  public var interfaceName: String { kernelName.text }
}
