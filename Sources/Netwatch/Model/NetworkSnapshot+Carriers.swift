/// Which links could carry a tunnel.
extension NetworkSnapshot {
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
  func standsOnIgnored(_ index: Int32) -> Bool { hasIgnoredLinks && standsOnIgnored(index, depth: 0) }

  private func standsOnIgnored(_ index: Int32, depth: Int) -> Bool {
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

extension InterfaceAddress {
  /// Its network holds an address that would otherwise stand for the internet.
  var coversStandIn: Bool { StandIns.addresses(address.family).dropLast().contains(where: covers) }

  func covers(_ other: IPAddress) -> Bool {
    prefixLength > StandIns.defaultPrefixLength && address.shares(prefixLength, with: other)
  }
}
