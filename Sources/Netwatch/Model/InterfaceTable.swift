/// The links of a machine, sorted by index, and the relations between them.
///
/// The links are stored in pieces. If another owner holds the table, a change to one link copies one piece and not the table.
/// Every published path holds a table.
package struct InterfaceTable: Sendable {
  /// The place of a link. It is valid until a link is inserted or removed.
  package struct Index: Hashable, Comparable, Sendable {
    fileprivate var piece: Int
    fileprivate var offset: Int

    package static func < (left: Index, right: Index) -> Bool {
      (left.piece, left.offset) < (right.piece, right.offset)
    }
  }

  private static let pieceCapacity = 32

  /// The pieces. None of them is empty.
  private var pieces: [[Interface]] = []
  /// The ports of bridges, bonds and similar links.
  private var ports = LinkRelation()
  /// The links that name the one that they stand on, such as VLANs, and bonds with the port that sends.
  private var stacked = LinkRelation()

  package init(_ interfaces: some Sequence<Interface> = []) {
    for interface in interfaces { insert(interface) }
  }

  package func position(of index: Int32) -> Index? {
    // The kernel counts from 1, so this is the place as long as no link has been removed.
    let guess = Index(piece: 0, offset: Int(index) - 1)
    if !pieces.isEmpty, pieces[0].indices.contains(guess.offset), pieces[0][guess.offset].index == index {
      return guess
    }
    let position = place(of: index)
    guard position.piece < pieces.count, position.offset < pieces[position.piece].count,
      pieces[position.piece][position.offset].index == index
    else { return nil }
    return position
  }

  package func interface(_ index: Int32) -> Interface? { position(of: index).map { self[$0] } }

  // MARK: Changes

  /// Adds a link whose index is new.
  @discardableResult mutating func insert(_ interface: Interface) -> Index {
    relate(interface)
    var position = place(of: interface.index)
    if position.piece == pieces.count {
      pieces.append([])
    } else if pieces[position.piece].count == Self.pieceCapacity {
      split(&position)
    }
    pieces[position.piece].insert(interface, at: position.offset)
    return position
  }

  /// Gives a link other properties. Its index stays the same.
  mutating func replace(at position: Index, by new: Interface) {
    let old = self[position]
    if old.masterIndex != new.masterIndex || old.standsOn != new.standsOn || old.activePortIndex != new.activePortIndex
    {
      unrelate(old)
      relate(new)
    }
    self[position] = new
  }

  mutating func remove(at position: Index) {
    unrelate(self[position])
    pieces[position.piece].remove(at: position.offset)
    if pieces[position.piece].isEmpty { pieces.remove(at: position.piece) }
  }

  mutating func removeAll(where isSuperfluous: (Interface) -> Bool) {
    for index in filter(isSuperfluous).map(\.index) { if let position = position(of: index) { remove(at: position) } }
  }

  /// Changes all links. `body` must not change the index of a link or its relations to others.
  mutating func update(_ body: (inout Interface) -> Void) {
    for piece in pieces.indices {
      for offset in pieces[piece].indices { body(&pieces[piece][offset]) }
    }
  }

  /// Splits a full piece in two. If the new link comes after all others, a new piece is begun instead, so that links that
  /// arrive in order fill their pieces.
  private mutating func split(_ position: inout Index) {
    if position.piece == pieces.count - 1, position.offset == Self.pieceCapacity {
      pieces.append([])
      position = Index(piece: position.piece + 1, offset: 0)
      return
    }
    let half = Self.pieceCapacity / 2
    pieces.insert(Array(pieces[position.piece][half...]), at: position.piece + 1)
    pieces[position.piece].removeSubrange(half...)
    if position.offset > half { position = Index(piece: position.piece + 1, offset: position.offset - half) }
  }

  private mutating func relate(_ interface: Interface) {
    if let master = interface.masterIndex { ports.insert(interface.index, on: master) }
    if let lower = interface.standsOn { stacked.insert(interface.index, on: lower) }
    if let port = interface.activePortIndex { stacked.insert(interface.index, on: port) }
  }

  private mutating func unrelate(_ interface: Interface) {
    if let master = interface.masterIndex { ports.remove(interface.index, on: master) }
    if let lower = interface.standsOn { stacked.remove(interface.index, on: lower) }
    if let port = interface.activePortIndex { stacked.remove(interface.index, on: port) }
  }

  /// Returns the place where a link is, or would have to be inserted.
  private func place(of index: Int32) -> Index {
    guard !pieces.isEmpty else { return Index(piece: 0, offset: 0) }
    // The first piece that ends with this index or a higher one, else the last piece. Most machines have only one.
    let piece = searched(upTo: pieces.count - 1) { pieces[$0][pieces[$0].count - 1].index < index }
    return Index(piece: piece, offset: searched(upTo: pieces[piece].count) { pieces[piece][$0].index < index })
  }

  // MARK: Relations

  /// Returns the indices of the ports of a bridge, bond or team, in ascending order. The ports themselves may be unknown.
  func ports(of index: Int32) -> some Sequence<Int32> { ports[index] }

  /// Returns the indices of the links that name this one as what they stand on, in ascending order.
  func stacked(on index: Int32) -> some Sequence<Int32> { stacked[index] }

  /// Returns whether some port of a bridge, bond or team can carry packets.
  func hasRunningPort(_ index: Int32) -> Bool {
    ports[index].contains { port in position(of: port).map { self[$0].isRunning } ?? false }
  }

  /// Returns whether a link stands on others, is a port of one, or carries others.
  func isStacked(_ interface: Interface) -> Bool {
    if interface.masterIndex != nil { return true }
    switch interface.role {
    case .stacked, .aggregate: return true
    case .base, .tunnel, .sink: return stacked(on: interface.index).contains { _ in true }
    }
  }

  /// Returns whether a link can carry packets. A bridge, bond or team can if one of its ports can.
  package func isUsable(_ interface: Interface) -> Bool {
    interface.isRunning && (!interface.needsPorts || hasRunningPort(interface.index))
  }
}

extension InterfaceTable: BidirectionalCollection {
  package var startIndex: Index { Index(piece: 0, offset: 0) }
  package var endIndex: Index { Index(piece: pieces.count, offset: 0) }
  package var count: Int { pieces.reduce(0) { $0 + $1.count } }

  package func index(after position: Index) -> Index {
    position.offset + 1 < pieces[position.piece].count
      ? Index(piece: position.piece, offset: position.offset + 1) : Index(piece: position.piece + 1, offset: 0)
  }

  package func index(before position: Index) -> Index {
    position.offset > 0
      ? Index(piece: position.piece, offset: position.offset - 1)
      : Index(piece: position.piece - 1, offset: pieces[position.piece - 1].count - 1)
  }

  /// The link at a place. A change here must not alter its index or its relations to others; use ``replace(at:by:)`` for
  /// that.
  package internal(set) subscript(position: Index) -> Interface {
    // Not copied: callers read single properties of a large value.
    _read { yield pieces[position.piece][position.offset] }
    _modify { yield &pieces[position.piece][position.offset] }
  }
}

extension InterfaceTable: Hashable {
  package static func == (left: InterfaceTable, right: InterfaceTable) -> Bool {
    // Pieces that two tables share are compared by address.
    left.pieces == right.pieces || left.count == right.count && left.elementsEqual(right)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for interface in self { hasher.combine(interface) }
  }
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

/// The relation of links to the links above them, by index.
///
/// The pairs are sorted numbers: the first one is found by binary search, and a copy is plain memory.
struct LinkRelation: Sendable {
  /// The index of the lower link in the upper half of each number, that of the upper link in the lower half.
  private var pairs: [UInt64] = []

  mutating func insert(_ above: Int32, on below: Int32) {
    let pair = Self.pair(below, above)
    let position = place(of: pair)
    if position == pairs.count || pairs[position] != pair { pairs.insert(pair, at: position) }
  }

  mutating func remove(_ above: Int32, on below: Int32) {
    let pair = Self.pair(below, above)
    let position = place(of: pair)
    if position < pairs.count, pairs[position] == pair { pairs.remove(at: position) }
  }

  /// Returns the indices of the links above a link, in ascending order.
  subscript(below: Int32) -> some Sequence<Int32> {
    let first = Self.pair(below, 0)
    return pairs[place(of: first)...].lazy.prefix { $0 >> 32 == first >> 32 }
      .map { Int32(truncatingIfNeeded: $0) }
  }

  private static func pair(_ below: Int32, _ above: Int32) -> UInt64 {
    UInt64(UInt32(bitPattern: below)) << 32 | UInt64(UInt32(bitPattern: above))
  }

  private func place(of pair: UInt64) -> Int {
    searched(upTo: pairs.count) { pairs[$0] < pair }
  }
}

/// Returns the first place from 0 that is not before the searched one; `end` if all are. By bisection.
@inline(__always) private func searched(upTo end: Int, _ isBefore: (Int) -> Bool) -> Int {
  var low = 0
  var high = end
  while low < high {
    let middle = (low + high) / 2
    if isBefore(middle) { low = middle + 1 } else { high = middle }
  }
  return low
}
