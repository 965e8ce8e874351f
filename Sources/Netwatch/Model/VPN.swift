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
