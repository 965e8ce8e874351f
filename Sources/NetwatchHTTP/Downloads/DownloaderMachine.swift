/// The states of a downloader: which requests run, which wait, and which receipts they have. Pure: events in, effects out.
///
/// Equal requests share a transfer. A transfer is active from its beginning to its end. A transfer that is cancelled while it
/// waits was never active.
struct DownloaderMachine<Key: Hashable & Sendable>: Sendable {
  typealias Receipt = UInt64
  typealias TransferID = UInt64

  enum Event: Sendable {
    /// - Parameter receipt: A new receipt each time.
    case requested(Receipt, Key)
    case cancelled(Receipt)
    case ended(TransferID)
  }

  /// What the downloader has to do. Effects are carried out in the order in which they are returned.
  enum Effect: Hashable, Sendable {
    case begin(TransferID, Key)
    /// Cancel a running transfer, which reports its end later.
    case cancel(TransferID)
    /// Forget a transfer that has not begun, because it has no receipts any more.
    case drop(TransferID)
    case answerCancelled(Receipt)
    /// Answer receipts with the outcome of their transfer.
    case answer([Receipt], of: TransferID)
  }

  private let limit: Int
  private let order: DownloadOrder
  private var entries: [TransferID: (key: Key, receipts: [Receipt], isActive: Bool)] = [:]
  /// The transfers that new requests can join.
  private var open: [Key: TransferID] = [:]
  private var transfers: [Receipt: TransferID] = [:]
  /// The transfers that have not begun. Cancelled ones are among them, and are skipped.
  private var waiting: [TransferID] = []
  private var firstWaiting = 0
  private var nextID: TransferID = 0
  private(set) var activeCount = 0

  /// - Parameter limit: The most transfers that are active at the same time. Less than 1 counts as 1.
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
    // A new request must not join a transfer that was cancelled.
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

  /// Keeps the list from growing without limit by the transfers that are skipped.
  private mutating func compact() {
    guard waiting.count > 64, waiting.count > 4 * (entries.count - activeCount) else { return }
    waiting = waiting[firstWaiting...].filter { entries[$0] != nil }
    firstWaiting = 0
  }
}
