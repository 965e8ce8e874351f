/// What links that stand on others carry their traffic over.
extension NetworkSnapshot {
  /// No stack of links that somebody has built on purpose is deeper.
  private static let depthLimit = 8

  /// Gives bridges, bonds, VLANs and their like the medium of what they stand on.
  mutating func carryMedia(_ delta: inout SnapshotDelta) {
    for position in interfaces.indices {
      switch interfaces[position].role {
      case .base, .tunnel: continue
      case .stacked, .aggregate: break
      }
      let base = foundation(of: interfaces[position], depth: 0)
      guard base.medium != interfaces[position].medium || base.isExpensive != interfaces[position].isExpensive else {
        continue
      }
      setCarried(base.medium, isExpensive: base.isExpensive, at: position)
      delta.isVisible = true
      delta.routing = .both
    }
  }

  /// It belongs to a bridge, bond or team, and leads nowhere by itself.
  func isPort(_ interface: Interface) -> Bool {
    interface.masterIndex.flatMap(position).map { interfaces[$0].needsPorts } ?? false
  }

  /// The radio that a link is, or stands on.
  package func radio(below index: Int32) -> Interface? {
    func search(_ interface: Interface, _ depth: Int) -> Interface? {
      if interface.wireless != nil { return interface }
      guard depth < Self.depthLimit else { return nil }
      for lower in links(below: interface) {
        if let radio = search(lower, depth + 1) { return radio }
      }
      return nil
    }
    return interface(index).flatMap { search($0, 0) }
  }

  private func foundation(of interface: Interface, depth: Int) -> (medium: Medium, isExpensive: Bool) {
    guard depth < Self.depthLimit else { return (.other, false) }
    switch interface.role {
    case .base, .tunnel: return (interface.medium, interface.isExpensive)
    case .stacked, .aggregate: break
    }
    var found: Medium?
    var isExpensive = false
    for lower in links(below: interface) {
      let base = foundation(of: lower, depth: depth + 1)
      found = found == nil || found == base.medium ? base.medium : .other
      isExpensive = isExpensive || base.isExpensive
    }
    return (found ?? .virtual, isExpensive)
  }

  /// The links that carry the traffic of one: of a bond the port that sends, else what runs.
  package func links(below interface: Interface) -> [Interface] {
    switch interface.role {
    case .base, .tunnel: return []
    case .stacked: return interface.lowerIndex.flatMap(self.interface).map { [$0] } ?? []
    case .aggregate:
      if let active = interface.activePortIndex.flatMap(self.interface) { return [active] }
      let isSwitch = interface.kind == "bridge" || interface.kind == "team"
      return interfaces.filter { port in
        guard port.masterIndex == interface.index, port.isRunning else { return false }
        // A container's or a virtual machine's end is a user of the switch, no way out.
        return !isSwitch || port.kind != "veth" && port.kind != "tun"
      }
    }
  }
}
