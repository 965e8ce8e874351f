/// The tunnel by which traffic leaves this machine, or the traffic of one address family.
public struct VPN: Hashable, Sendable {
  /// The name of the tunnel's link as the bytes that the kernel uses.
  package let kernelName: InterfaceName
  /// The index of the tunnel's link in the kernel's table.
  public let interfaceIndex: Int32
  /// The kind of tunnel.
  public let kind: TunnelKind
  /// Whether the link that carries the tunnel's own packets is known.
  ///
  /// False if several links could carry the tunnel and nothing tells which one does. ``NetworkPath/interfaceName`` then names
  /// the tunnel, unless IPv4 does not go through it.
  public let isCarrierKnown: Bool
  /// The address families whose traffic goes through a tunnel. A family that is missing here leaves the machine without one,
  /// or not at all.
  public let families: Set<AddressFamily>

  package init(
    kernelName: InterfaceName, interfaceIndex: Int32, kind: TunnelKind, isCarrierKnown: Bool = true,
    families: Set<AddressFamily>
  ) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.kind = kind
    self.isCarrierKnown = isCarrierKnown
    self.families = families
  }

  /// The name of the tunnel's link, such as `wg0`.
  public var interfaceName: String { kernelName.text }
}

extension VPN: CustomStringConvertible {
  /// The tunnel by its name, such as `VPN tun0`.
  public var description: String { "VPN \(interfaceName.sanitizedForTerminal)" }
}
