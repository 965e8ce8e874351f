/// Deadlines with a closure for each, in order. Pure: the queue does not read a clock.
struct TimerQueue {
  struct Entry {
    let id: UInt64
    let deadline: Duration
    let body: () -> Void
  }

  /// The entries, sorted by deadline with the earliest last, so that the next one is removed without moving the others. A loop
  /// has only a few.
  private var entries: [Entry] = []
  private var lastID: UInt64 = 0

  var nextDeadline: Duration? { entries.last?.deadline }

  mutating func add(at deadline: Duration, _ body: @escaping () -> Void) -> UInt64 {
    lastID += 1
    // If two deadlines are equal, the one that was added first fires first.
    let position = entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex
    entries.insert(Entry(id: lastID, deadline: deadline, body: body), at: position)
    return lastID
  }

  mutating func remove(_ id: UInt64) {
    entries.removeAll { $0.id == id }
  }

  mutating func popDue(at now: Duration) -> Entry? {
    guard let next = entries.last, next.deadline <= now else { return nil }
    return entries.removeLast()
  }
}
