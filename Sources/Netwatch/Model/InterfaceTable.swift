/// The links of a machine, sorted by index, and the relations between them.
package struct InterfaceTable: Sendable {
  private var interfaces: [Interface] = []
  /// The ports of bridges, bonds and similar links, in ascending order. The ports themselves may be unknown.
  private var ports: [Int32: [Int32]] = [:]
  /// The links that name the one that they stand on, such as VLANs, and bonds with the port that sends; in ascending order.
  private var uppers: [Int32: [Int32]] = [:]

  package init(_ interfaces: some Sequence<Interface> = []) {
    for interface in interfaces { insert(interface) }
  }

  package func position(of index: Int32) -> Int? {
    let position = place(of: index)
    return position < interfaces.count && interfaces[position].index == index ? position : nil
  }

  package func interface(_ index: Int32) -> Interface? { position(of: index).map { interfaces[$0] } }

  /// Returns the place where a link is, or would have to be inserted, by bisection.
  private func place(of index: Int32) -> Int {
    var (low, high) = (0, interfaces.count)
    while low < high {
      let middle = (low + high) / 2
      if interfaces[middle].index < index { low = middle + 1 } else { high = middle }
    }
    return low
  }

  // MARK: Changes

  /// Adds a link whose index is new.
  @discardableResult mutating func insert(_ interface: Interface) -> Int {
    relate(interface)
    let position = place(of: interface.index)
    interfaces.insert(interface, at: position)
    return position
  }

  /// Gives a link other properties. Its index stays the same.
  mutating func replace(at position: Int, by new: Interface) {
    let old = interfaces[position]
    if old.masterIndex != new.masterIndex || old.standsOn != new.standsOn || old.activePortIndex != new.activePortIndex
    {
      unrelate(old)
      relate(new)
    }
    interfaces[position] = new
  }

  mutating func remove(at position: Int) { unrelate(interfaces.remove(at: position)) }

  mutating func removeAll(where isSuperfluous: (Interface) -> Bool) {
    for interface in interfaces where isSuperfluous(interface) { unrelate(interface) }
    interfaces.removeAll(where: isSuperfluous)
  }

  /// Changes all links. `body` must not change the index of a link or its relations to others.
  mutating func update(_ body: (inout Interface) -> Void) {
    for position in interfaces.indices { body(&interfaces[position]) }
  }

  private mutating func relate(_ interface: Interface) {
    func add(_ lower: Int32?, _ relation: inout [Int32: [Int32]]) {
      guard let lower else { return }
      var uppers = relation[lower] ?? []
      guard !uppers.contains(interface.index) else { return }
      uppers.insert(interface.index, at: uppers.firstIndex { $0 > interface.index } ?? uppers.count)
      relation[lower] = uppers
    }
    add(interface.masterIndex, &ports)
    add(interface.standsOn, &uppers)
    add(interface.activePortIndex, &uppers)
  }

  private mutating func unrelate(_ interface: Interface) {
    func remove(_ lower: Int32?, _ relation: inout [Int32: [Int32]]) {
      guard let lower else { return }
      relation[lower]?.removeAll { $0 == interface.index }
      if relation[lower]?.isEmpty == true { relation[lower] = nil }
    }
    remove(interface.masterIndex, &ports)
    remove(interface.standsOn, &uppers)
    remove(interface.activePortIndex, &uppers)
  }

  // MARK: Relations

  /// Returns the indices of the ports of a bridge, bond or team, in ascending order. The ports themselves may be unknown.
  func ports(of index: Int32) -> [Int32] { ports[index] ?? [] }

  /// Returns the indices of the links that name this one as what they stand on, in ascending order.
  func uppers(of index: Int32) -> [Int32] { uppers[index] ?? [] }

  /// Returns whether some port of a bridge, bond or team can carry packets.
  func hasRunningPort(_ index: Int32) -> Bool { ports(of: index).contains { interface($0)?.isRunning ?? false } }

  /// Returns whether a link stands on others, is a port of one, or carries others.
  func isStacked(_ interface: Interface) -> Bool {
    if interface.masterIndex != nil { return true }
    switch interface.role {
    case .stacked, .aggregate: return true
    case .base, .tunnel, .sink: return uppers[interface.index] != nil
    }
  }

  /// Returns whether a link can carry packets. A bridge, bond or team can if one of its ports can.
  package func isUsable(_ interface: Interface) -> Bool {
    interface.isRunning && (!interface.needsPorts || hasRunningPort(interface.index))
  }
}

extension InterfaceTable: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { interfaces.count }

  /// The link at a place. A change here must not alter its index or its relations to others; use ``replace(at:by:)`` for
  /// that.
  package internal(set) subscript(position: Int) -> Interface {
    get { interfaces[position] }
    _modify { yield &interfaces[position] }
  }
}

extension InterfaceTable: Hashable {
  package static func == (left: InterfaceTable, right: InterfaceTable) -> Bool { left.interfaces == right.interfaces }

  package func hash(into hasher: inout Hasher) { hasher.combine(interfaces) }
}

extension InterfaceTable: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: Interface...) { self.init(elements) }
}

extension Interface {
  /// The index of the link below that the kernel names, if that link carries this one.
  var standsOn: Int32? {
    // The ends of a veth pair name each other, and each reports its own carrier at once. An XFRM interface that is bound to no
    // link names the loopback, whose index is 1 in each namespace (LOOPBACK_IFINDEX).
    kind == "veth" || lowerIndex == 1 ? nil : lowerIndex
  }
}
