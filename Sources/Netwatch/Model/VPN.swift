/// The tunnel by which traffic leaves this machine.
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
  /// the tunnel.
  public let isCarrierKnown: Bool

  package init(kernelName: InterfaceName, interfaceIndex: Int32, kind: TunnelKind, isCarrierKnown: Bool = true) {
    self.kernelName = kernelName
    self.interfaceIndex = interfaceIndex
    self.kind = kind
    self.isCarrierKnown = isCarrierKnown
  }

  /// The name of the tunnel's link, such as `wg0`.
  public var interfaceName: String { kernelName.text }
}
