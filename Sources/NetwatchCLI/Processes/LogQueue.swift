/// The lines that wait for the writer of the log, the oldest first. If the queue is full, the oldest line is dropped, and the
/// next one also counts its changes.
struct LogQueue {
  /// A line without its end. The end has the number of changes.
  struct Item: Equatable {
    var line: [UInt8]
    /// The number of changes that the line stands for. Default: 1.
    var changes = 1
  }

  static let limit = 1_024

  /// The ring of lines, allocated when the first line has to wait.
  private var ring: [Item?] = []
  private var start = 0
  private(set) var count = 0

  var first: Item? { count > 0 ? ring[start] : nil }

  mutating func append(_ item: Item) {
    if ring.isEmpty { ring = Array(repeating: nil, count: Self.limit) }
    if count == Self.limit {
      let merged = ring[start]?.changes ?? 0
      removeFirst()
      ring[start]?.changes += merged
    }
    ring[(start + count) % Self.limit] = item
    count += 1
  }

  mutating func removeFirst() {
    guard count > 0 else { return }
    ring[start] = nil
    start = (start + 1) % Self.limit
    count -= 1
  }
}
