/// Which links are above which others, by their indices.
///
/// Sorted pairs of numbers: the first one is found in the time of a binary search, and a copy is one of plain memory.
struct LinkRelation: Sendable {
  private struct Pair: Sendable, Comparable {
    let below: Int32
    let above: Int32

    static func < (left: Pair, right: Pair) -> Bool { (left.below, left.above) < (right.below, right.above) }
  }

  private var pairs: [Pair] = []

  mutating func insert(_ above: Int32, on below: Int32) {
    let pair = Pair(below: below, above: above)
    let position = place(of: pair)
    guard position == pairs.count || pairs[position] != pair else { return }
    pairs.insert(pair, at: position)
  }

  mutating func remove(_ above: Int32, on below: Int32) {
    let pair = Pair(below: below, above: above)
    let position = place(of: pair)
    if position < pairs.count, pairs[position] == pair { pairs.remove(at: position) }
  }

  subscript(below: Int32) -> Upper { Upper(relation: self, below: below) }

  private func place(of pair: Pair) -> Int {
    var low = 0
    var high = pairs.count
    while low < high {
      let middle = (low + high) / 2
      if pairs[middle] < pair { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The indices of the links above one, in ascending order.
  struct Upper: Sequence, IteratorProtocol {
    private let pairs: [Pair]
    private let below: Int32
    private var position: Int

    fileprivate init(relation: LinkRelation, below: Int32) {
      pairs = relation.pairs
      self.below = below
      position = relation.place(of: Pair(below: below, above: .min))
    }

    mutating func next() -> Int32? {
      guard position < pairs.count, pairs[position].below == below else { return nil }
      defer { position += 1 }
      return pairs[position].above
    }
  }
}
