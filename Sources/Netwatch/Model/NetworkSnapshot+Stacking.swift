/// The medium of links that stand on others.
extension NetworkSnapshot {
  /// The depth of the deepest stack that is followed. No stack that somebody builds on purpose is deeper.
  static let depthLimit = 8

  /// Gives all bridges, bonds, VLANs and similar links the medium of what they stand on.
  mutating func carryAllMedia(_ delta: inout SnapshotDelta) {
    for index in interfaces.map(\.index) { _ = carryMedium(to: index, &delta) }
  }

  /// Gives the links that stand on a changed one, directly or over others, the medium of what they stand on now.
  ///
  /// - Parameters:
  ///   - old: The link before the change. Nil if it is new.
  ///   - new: The link after the change. Nil if it is gone.
  mutating func carryMedia(from old: Interface?, to new: Interface?, _ delta: inout SnapshotDelta) {
    guard let index = new?.index ?? old?.index else { return }
    _ = carryMedium(to: index, &delta)
    let now = new.flatMap { interface($0.index) }
    var level = links(carriedUnlikeBeforeBy: old, now)
    for _ in 0..<Self.depthLimit where !level.isEmpty {
      var next: [Int32] = []
      for index in level where carryMedium(to: index, &delta) {
        for upper in links(above: index) where !next.contains(upper) { next.append(upper) }
      }
      level = next
    }
  }

  /// Gives one link the medium of what it stands on.
  ///
  /// - Returns: Whether the medium or the cost has changed.
  private mutating func carryMedium(to index: Int32, _ delta: inout SnapshotDelta) -> Bool {
    guard let position = position(of: index) else { return false }
    switch interfaces[position].role {
    case .base, .tunnel, .sink: return false
    case .upper, .master: break
    }
    let base = foundation(of: interfaces[position], depth: 0)
    guard base.medium != interfaces[position].medium || base.cost != interfaces[position].cost else {
      return false
    }
    setCarried(base.medium, base.cost, at: position)
    delta.isVisible = true
    delta.routing = .both
    return true
  }

  /// Returns the links directly above a changed one that may have another medium now.
  private func links(carriedUnlikeBeforeBy old: Interface?, _ new: Interface?) -> [Int32] {
    var found: [Int32] = []
    for master in [old?.masterIndex, new?.masterIndex] {
      guard let master, !found.contains(master), let position = position(of: master) else { continue }
      let before = old.flatMap { $0.masterIndex == master && $0.carries(interfaces[position]) ? $0 : nil }
      let now = new.flatMap { $0.masterIndex == master && $0.carries(interfaces[position]) ? $0 : nil }
      if before?.medium != now?.medium || before?.cost != now?.cost { found.append(master) }
    }
    if let index = new?.index ?? old?.index, old?.medium != new?.medium || old?.cost != new?.cost {
      for upper in interfaces.uppers(of: index) where !found.contains(upper) { found.append(upper) }
    }
    return found
  }

  /// Returns the links directly above a link.
  private func links(above index: Int32) -> [Int32] {
    let master = position(of: index).flatMap { interfaces[$0].masterIndex }
    return (master.map { [$0] } ?? []) + interfaces.uppers(of: index).filter { $0 != master }
  }

  /// Returns whether the link is a port of a bridge, bond or team, and so leads nowhere by itself.
  func isPort(_ interface: Interface) -> Bool {
    interface.masterIndex.flatMap(position).map { interfaces[$0].needsPorts } ?? false
  }

  /// Returns the radio that a link is or stands on.
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

  private func foundation(of interface: Interface, depth: Int) -> (medium: Medium, cost: LinkCost) {
    guard depth < Self.depthLimit else { return (.other, LinkCost()) }
    switch interface.role {
    case .base, .tunnel, .sink: return (interface.medium, interface.cost)
    case .upper, .master: break
    }
    var found: Medium?
    var cost = LinkCost()
    for lower in links(below: interface) {
      let base = foundation(of: lower, depth: depth + 1)
      found = found == nil || found == base.medium ? base.medium : .other
      cost.add(base.cost)
    }
    return (found ?? .virtual, interface.asUserSays(cost))
  }

  /// Returns the links that carry the traffic of a link: the sending port of a bond, else those that run.
  package func links(below interface: Interface) -> [Interface] {
    switch interface.role {
    case .base, .tunnel, .sink: return []
    case .upper:
      guard let lower = interface.lowerIndex.flatMap(self.interface), !lower.isIgnored else { return [] }
      return [lower]
    case .master:
      if let active = interface.activePortIndex.flatMap(self.interface), !active.isIgnored { return [active] }
      return interfaces.ports(of: interface.index).compactMap { port in
        self.interface(port).flatMap { $0.carries(interface) ? $0 : nil }
      }
    }
  }

  /// Returns the tunnel that a link is, or on which it stands: a bridge whose only ports to other machines are tunnels, or a VLAN
  /// on one. Nil if the link, or a part of it, stands on something else.
  func tunnel(beneath index: Int32, depth: Int = 0) -> Interface? {
    guard depth < Self.depthLimit, let position = position(of: index) else { return nil }
    switch interfaces[position].role {
    case .tunnel: return interfaces[position]
    case .base, .sink: return nil
    case .upper, .master:
      let tunnels = links(below: interfaces[position]).map { tunnel(beneath: $0.index, depth: depth + 1) }
      return tunnels.contains(nil) ? nil : tunnels.first ?? nil
    }
  }

  // MARK: Links that could carry a tunnel

  /// Returns the links that could carry a tunnel, including those without carrier.
  func possibleCarriers(allowingLinkLocalIPv4: Bool) -> [Int32] {
    interfaces.indices.filter { couldCarry(at: $0, allowingLinkLocalIPv4: allowingLinkLocalIPv4) }
      .map { interfaces[$0].index }
  }

  /// Returns whether a link could carry a tunnel: it leads to other machines, is switched on, and has a usable address.
  func couldCarry(at position: Int, allowingLinkLocalIPv4: Bool = false) -> Bool {
    // Of many links, such as the ports of bridges, most have no address.
    interfaces[position].addresses.contains { $0.isUsable(allowingLinkLocalIPv4: allowingLinkLocalIPv4) }
      && interfaces[position].isAdministrativelyUp && leadsOutward(at: position)
  }

  /// Returns whether a link leads to other machines, if it works: it is no tunnel and no sink.
  ///
  /// Ports lead nowhere by themselves. A bridge whose only ports are the ends of containers or virtual machines leads only to
  /// these.
  func leadsOutward(at position: Int) -> Bool {
    let index = interfaces[position].index
    switch interfaces[position].role {
    case .tunnel, .sink: return false
    case .base: break
    case .upper: guard tunnel(beneath: index) == nil else { return false }
    case .master:
      guard interfaces[position].needsPorts, hasOutwardPort(index), tunnel(beneath: index) == nil else { return false }
    }
    return !interfaces[position].isLoopback && !interfaces[position].isIgnored && !isPort(interfaces[position])
  }

  /// Returns whether a link is a network card, in whatever state.
  func isHardware(at position: Int) -> Bool {
    guard interfaces[position].kind.map({ Medium.hardwareKinds.contains($0) }) ?? true, !interfaces[position].isLoopback
    else { return false }
    return interfaces[position].role.tunnelKind == nil
  }

  /// Returns whether some port of a bridge, bond or team leads to other machines.
  private func hasOutwardPort(_ index: Int32) -> Bool {
    interfaces.ports(of: index).contains { port in
      position(of: port).map { interfaces[$0].kind != "veth" && interfaces[$0].kind != "tun" } ?? false
    }
  }

  /// Returns whether a link stands only on links that are to be treated as absent.
  func hasIgnoredLowerDevice(_ index: Int32, depth: Int = 0) -> Bool {
    guard depth < Self.depthLimit, let interface = interface(index) else { return false }
    switch interface.role {
    case .base, .tunnel, .sink: return false
    case .upper:
      guard let lower = interface.lowerIndex.flatMap(self.interface) else { return false }
      return lower.isIgnored || hasIgnoredLowerDevice(lower.index, depth: depth + 1)
    case .master:
      return interface.needsPorts
        && !interfaces.ports(of: index).contains { port in
          position(of: port).map { interfaces[$0].isRunning } == true && !hasIgnoredLowerDevice(port, depth: depth + 1)
        }
    }
  }
}

extension Interface {
  /// Returns whether this link, as a port of an aggregate, connects it to other machines.
  fileprivate func carries(_ aggregate: Interface) -> Bool {
    guard isRunning else { return false }
    let isSwitch = aggregate.kind == "bridge" || aggregate.kind == "team"
    // The end of a container or virtual machine uses the bridge; it is no way out.
    return !isSwitch || kind != "veth" && kind != "tun"
  }
}
