/// Values with a cost, of which the most recently used are kept. Pure. Each operation but the purge takes constant time.
struct RecencyStore<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A value with its neighbours in the order of use.
  private struct Slot: Sendable {
    let key: Key
    let value: Value
    let cost: Int
    var older: Int?
    var newer: Int?
  }

  let capacity: Int
  /// The most that the values may cost together after a purge.
  let preferred: Int
  private(set) var usage = 0
  private var slots: [Slot?] = []
  private var free: [Int] = []
  private var places: [Key: Int] = [:]
  private var oldest: Int?
  private var newest: Int?

  init(capacity: Int, preferred: Int) {
    self.capacity = max(capacity, 0)
    self.preferred = min(max(preferred, 0), self.capacity)
  }

  var count: Int { places.count }

  /// Inserts a value. A value that costs more than the capacity is not kept, and only removes the old value of its key.
  mutating func insert(_ value: Value, cost: Int, for key: Key) {
    let cost = max(cost, 0)
    remove(key)
    guard cost <= capacity else { return }
    // Written as a difference, because the sum could overflow.
    let isOver = cost > capacity - usage
    if isOver { purge(leaving: max(preferred - cost, 0)) }
    place(Slot(key: key, value: value, cost: cost))
  }

  /// Returns the value of a key, and marks it as used.
  mutating func value(for key: Key) -> Value? {
    guard let index = places[key], let slot = slots[index] else { return nil }
    if index != newest {
      unlink(index)
      link(index)
    }
    return slot.value
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Bool {
    guard let index = places.removeValue(forKey: key) else { return false }
    unlink(index)
    usage -= slots[index]?.cost ?? 0
    slots[index] = nil
    free.append(index)
    return true
  }

  mutating func removeAll() { self = RecencyStore(capacity: capacity, preferred: preferred) }

  private mutating func purge(leaving rest: Int) {
    while usage > rest, let index = oldest, let slot = slots[index] { remove(slot.key) }
  }

  // MARK: The list

  private mutating func place(_ slot: Slot) {
    let index = free.popLast() ?? slots.count
    if index == slots.count { slots.append(slot) } else { slots[index] = slot }
    places[slot.key] = index
    usage += slot.cost
    link(index)
  }

  private mutating func link(_ index: Int) {
    slots[index]?.older = newest
    slots[index]?.newer = nil
    if let newest { slots[newest]?.newer = index } else { oldest = index }
    newest = index
  }

  private mutating func unlink(_ index: Int) {
    let (older, newer) = (slots[index]?.older, slots[index]?.newer)
    if let older { slots[older]?.newer = newer } else { oldest = newer }
    if let newer { slots[newer]?.older = older } else { newest = older }
  }
}
