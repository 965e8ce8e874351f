/// What links that stand on others carry their traffic over.
extension NetworkSnapshot {
  /// No stack of links that somebody has built on purpose is deeper.
  static let depthLimit = 8

  /// Gives all bridges, bonds, VLANs and their like the medium of what they stand on.
  mutating func carryAllMedia(_ delta: inout SnapshotDelta) {
    for index in interfaces.map(\.index) { _ = carryMedium(to: index, &delta) }
  }

  /// Gives the links that stand on a changed one, directly or over others, the medium of what they stand on now.
  ///
  /// - Parameters:
  ///   - old: nil if the link is new.
  ///   - new: nil if the link is gone.
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

  /// - Returns: whether the medium is another one than before.
  private mutating func carryMedium(to index: Int32, _ delta: inout SnapshotDelta) -> Bool {
    guard let position = position(of: index) else { return false }
    switch interfaces[position].role {
    case .base, .tunnel, .sink: return false
    case .stacked, .aggregate: break
    }
    let base = foundation(of: interfaces[position], depth: 0)
    guard base.medium != interfaces[position].medium || base.isExpensive != interfaces[position].isExpensive else {
      return false
    }
    setCarried(base.medium, isExpensive: base.isExpensive, at: position)
    delta.isVisible = true
    delta.routing = .both
    return true
  }

  /// The links right above a changed one that may have another medium now.
  private func links(carriedUnlikeBeforeBy old: Interface?, _ new: Interface?) -> [Int32] {
    var found: [Int32] = []
    for master in [old?.masterIndex, new?.masterIndex] {
      guard let master, !found.contains(master), let position = position(of: master) else { continue }
      let before = old.flatMap { $0.masterIndex == master && $0.carries(interfaces[position]) ? $0 : nil }
      let now = new.flatMap { $0.masterIndex == master && $0.carries(interfaces[position]) ? $0 : nil }
      if before?.medium != now?.medium || before?.isExpensive != now?.isExpensive { found.append(master) }
    }
    if let index = new?.index ?? old?.index, old?.medium != new?.medium || old?.isExpensive != new?.isExpensive {
      for upper in interfaces.stacked(on: index) where !found.contains(upper) { found.append(upper) }
    }
    return found
  }

  /// The links right above one.
  private func links(above index: Int32) -> [Int32] {
    let master = position(of: index).flatMap { interfaces[$0].masterIndex }
    return (master.map { [$0] } ?? []) + interfaces.stacked(on: index).filter { $0 != master }
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
    case .base, .tunnel, .sink: return (interface.medium, interface.isExpensive)
    case .stacked, .aggregate: break
    }
    var found: Medium?
    var isExpensive = false
    for lower in links(below: interface) {
      let base = foundation(of: lower, depth: depth + 1)
      found = found == nil || found == base.medium ? base.medium : .other
      isExpensive = isExpensive || base.isExpensive
    }
    return (found ?? .virtual, interface.userSaysExpensive ?? isExpensive)
  }

  /// The links that carry the traffic of one: of a bond the port that sends, else what runs.
  package func links(below interface: Interface) -> [Interface] {
    switch interface.role {
    case .base, .tunnel, .sink: return []
    case .stacked:
      guard let lower = interface.lowerIndex.flatMap(self.interface), !lower.isIgnored else { return [] }
      return [lower]
    case .aggregate:
      if let active = interface.activePortIndex.flatMap(self.interface), !active.isIgnored { return [active] }
      return interfaces.ports(of: interface.index).compactMap { port in
        self.interface(port).flatMap { $0.carries(interface) ? $0 : nil }
      }
    }
  }

  // MARK: Links that could carry a tunnel

  /// The links that could carry a tunnel, those without carrier too.
  func possibleCarriers(allowingLinkLocalIPv4: Bool) -> [Int32] {
    interfaces.indices.filter { couldCarry(at: $0, allowingLinkLocalIPv4: allowingLinkLocalIPv4) }
      .map { interfaces[$0].index }
  }

  /// It is switched on, has an address that works, and is no tunnel and no sink. Ports lead nowhere by themselves, and a
  /// switch with nothing but ends of containers or virtual machines on it leads to these alone.
  func couldCarry(at position: InterfaceTable.Index, allowingLinkLocalIPv4: Bool = false) -> Bool {
    let interface = interfaces[position]
    switch interface.role {
    case .tunnel, .sink: return false
    case .base, .stacked: break
    case .aggregate: guard interface.needsPorts, hasOutwardPort(interface.index) else { return false }
    }
    return interface.isAdministrativelyUp && !interface.isLoopback && !interface.isIgnored && !isPort(interface)
      && interface.addresses.contains { $0.isUsable(allowingLinkLocalIPv4: allowingLinkLocalIPv4) }
  }

  /// A card, whatever state it is in.
  func isHardware(at position: InterfaceTable.Index) -> Bool {
    guard interfaces[position].kind == nil, !interfaces[position].isLoopback else { return false }
    return interfaces[position].role.tunnelKind == nil
  }

  private func hasOutwardPort(_ index: Int32) -> Bool {
    interfaces.ports(of: index).contains { port in
      position(of: port).map { interfaces[$0].kind != "veth" && interfaces[$0].kind != "tun" } ?? false
    }
  }

  /// Nothing is left of what it stands on but links that are to be treated as if they were not there.
  func standsOnIgnored(_ index: Int32, depth: Int = 0) -> Bool {
    guard depth < Self.depthLimit, let interface = interface(index) else { return false }
    switch interface.role {
    case .base, .tunnel, .sink: return false
    case .stacked:
      guard let lower = interface.lowerIndex.flatMap(self.interface) else { return false }
      return lower.isIgnored || standsOnIgnored(lower.index, depth: depth + 1)
    case .aggregate:
      return interface.needsPorts
        && !interfaces.ports(of: index).contains { port in
          position(of: port).map { interfaces[$0].isRunning } == true && !standsOnIgnored(port, depth: depth + 1)
        }
    }
  }
}

extension Interface {
  /// As a port of an aggregate, it brings that to other machines.
  fileprivate func carries(_ aggregate: Interface) -> Bool {
    guard isRunning else { return false }
    let isSwitch = aggregate.kind == "bridge" || aggregate.kind == "team"
    // A container's or a virtual machine's end is a user of the switch, no way out.
    return !isSwitch || kind != "veth" && kind != "tun"
  }
}
