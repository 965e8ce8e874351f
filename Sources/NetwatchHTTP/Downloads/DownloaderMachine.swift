/// Which requests run, which wait, and who waits for them. Pure: events in, effects out.
///
/// Equal requests share a transfer. A transfer counts as active from its beginning to its end, and one that is cancelled while
/// it waits was never active.
struct DownloaderMachine<Key: Hashable & Sendable>: Sendable {
  typealias Receipt = UInt64
  typealias TransferID = UInt64

  enum Event: Sendable {
    /// - Parameter receipt: a new one each time.
    case requested(Receipt, Key)
    case cancelled(Receipt)
    case ended(TransferID)
  }

  /// To be carried out in this order.
  enum Effect: Hashable, Sendable {
    case begin(TransferID, Key)
    /// Its end is still to come.
    case cancel(TransferID)
    /// Nobody wants the transfer, which has not begun.
    case drop(TransferID)
    case answerCancelled(Receipt)
    /// With what the transfer has brought.
    case answer([Receipt], of: TransferID)
  }

  private let limit: Int
  private let order: DownloadOrder
  private var entries: [TransferID: (key: Key, receipts: [Receipt], isActive: Bool)] = [:]
  /// Those that others can join.
  private var open: [Key: TransferID] = [:]
  private var transfers: [Receipt: TransferID] = [:]
  /// Also some that were cancelled, and are skipped.
  private var waiting: [TransferID] = []
  private var firstWaiting = 0
  private var nextID: TransferID = 0
  private(set) var activeCount = 0

  /// - Parameter limit: how many may be active; at least one.
  init(limit: Int, order: DownloadOrder) {
    self.limit = max(limit, 1)
    self.order = order
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .requested(let receipt, let key):
      request(receipt, key)
      return fill()
    case .cancelled(let receipt): return cancel(receipt)
    case .ended(let id): return end(id)
    }
  }

  private mutating func request(_ receipt: Receipt, _ key: Key) {
    if let id = open[key] {
      entries[id]?.receipts.append(receipt)
      transfers[receipt] = id
      return
    }
    nextID += 1
    entries[nextID] = (key, [receipt], false)
    open[key] = nextID
    transfers[receipt] = nextID
    waiting.append(nextID)
  }

  private mutating func cancel(_ receipt: Receipt) -> [Effect] {
    guard let id = transfers.removeValue(forKey: receipt), var entry = entries[id] else { return [] }
    entry.receipts.removeAll { $0 == receipt }
    entries[id] = entry
    guard entry.receipts.isEmpty else { return [.answerCancelled(receipt)] }
    // Whoever comes now must not be given what was cancelled.
    open[entry.key] = nil
    if entry.isActive { return [.cancel(id), .answerCancelled(receipt)] }
    entries[id] = nil
    compact()
    return [.drop(id), .answerCancelled(receipt)]
  }

  private mutating func end(_ id: TransferID) -> [Effect] {
    guard let entry = entries[id], entry.isActive else { return [] }
    entries[id] = nil
    activeCount -= 1
    if open[entry.key] == id { open[entry.key] = nil }
    for receipt in entry.receipts { transfers[receipt] = nil }
    return (entry.receipts.isEmpty ? [] : [.answer(entry.receipts, of: id)]) + fill()
  }

  private mutating func fill() -> [Effect] {
    var effects: [Effect] = []
    while activeCount < limit, let id = takeWaiting() {
      guard var entry = entries[id] else { continue }
      entry.isActive = true
      entries[id] = entry
      activeCount += 1
      effects.append(.begin(id, entry.key))
    }
    return effects
  }

  private mutating func takeWaiting() -> TransferID? {
    guard firstWaiting < waiting.count else {
      waiting.removeAll(keepingCapacity: true)
      firstWaiting = 0
      return nil
    }
    if order == .lastInFirstOut { return waiting.removeLast() }
    firstWaiting += 1
    return waiting[firstWaiting - 1]
  }

  /// Keeps what is skipped from growing without an end.
  private mutating func compact() {
    guard waiting.count > 64, waiting.count > 4 * (entries.count - activeCount) else { return }
    waiting = waiting[firstWaiting...].filter { entries[$0] != nil }
    firstWaiting = 0
  }
}
