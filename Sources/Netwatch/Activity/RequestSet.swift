/// The requests that run. Their number cannot become negative, because it is the size of a set.
package struct RequestSet: Sendable {
  /// A request without a name. A ticket that has ended never stands for another request.
  package struct Ticket: Hashable, Sendable {
    fileprivate let slot: UInt32
    fileprivate let generation: UInt32
  }

  private struct Slot: Sendable {
    var generation: UInt32 = 0
    var isRunning = true
    var label: String?
  }

  package private(set) var count = 0
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var running: Set<RequestID> = []
  /// Requests that have begun but do not count.
  private var unindicated: Set<RequestID> = []
  /// For ids that do not run: whether one ended before it began. The next begin of such an id then counts for nothing. If one
  /// that ran ends again, nothing happens, and it may begin again.
  private var hasEndedEarly = RecentValues<RequestID, Bool>(capacity: 1_024)

  package init() {}

  // MARK: Tickets

  package mutating func begin(_ label: String?) -> Ticket {
    count += 1
    if let slot = freeSlots.popLast() {
      slots[Int(slot)].isRunning = true
      slots[Int(slot)].label = label
      return Ticket(slot: slot, generation: slots[Int(slot)].generation)
    }
    slots.append(Slot(label: label))
    return Ticket(slot: UInt32(slots.count - 1), generation: 0)
  }

  /// Ends a request. Does nothing if it has ended already.
  package mutating func end(_ ticket: Ticket) {
    let slot = Int(ticket.slot)
    guard slots[slot].isRunning, slots[slot].generation == ticket.generation else { return }
    slots[slot].isRunning = false
    slots[slot].label = nil
    slots[slot].generation &+= 1
    freeSlots.append(ticket.slot)
    count -= 1
  }

  /// The labels of the requests that have one.
  package var labels: [String] { slots.compactMap(\.label) }

  // MARK: Ids

  package mutating func began(_ id: RequestID, isIndicated: Bool = true) {
    if hasEndedEarly[id] == true {
      hasEndedEarly[id] = false
      return
    }
    guard isIndicated else {
      if !running.contains(id) { unindicated.insert(id) }
      return
    }
    guard !unindicated.contains(id), running.insert(id).inserted else { return }
    count += 1
  }

  package mutating func ended(_ id: RequestID) {
    if running.remove(id) != nil {
      count -= 1
      hasEndedEarly[id] = false
    } else if unindicated.remove(id) != nil {
      hasEndedEarly[id] = false
    } else if hasEndedEarly[id] == nil {
      hasEndedEarly[id] = true
    }
  }

  package func isRunning(_ id: RequestID) -> Bool { running.contains(id) }
}

/// A value for each of the newest keys, up to the capacity; older keys are forgotten.
struct RecentValues<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var places: [Key: Int] = [:]
  private var entries: [(key: Key, value: Value)] = []
  private var oldest = 0
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  /// The value for a key. A new value for a known key does not make the key newer.
  subscript(key: Key) -> Value? {
    get { places[key].map { entries[$0].value } }
    set {
      guard let newValue else { return }
      if let place = places[key] {
        entries[place].value = newValue
      } else if entries.count < capacity {
        places[key] = entries.count
        entries.append((key, newValue))
      } else {
        places[entries[oldest].key] = nil
        places[key] = oldest
        entries[oldest] = (key, newValue)
        oldest = (oldest + 1) % capacity
      }
    }
  }
}
