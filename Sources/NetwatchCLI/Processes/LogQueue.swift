/// Lines that wait for the writer of the log, the oldest first. If there are too many, the oldest two become one, which says for
/// how many changes it stands.
struct LogQueue {
  /// A line without its end.
  struct Item: Equatable {
    var line: [UInt8]
    /// How many changes the line stands for.
    var changes = 1
  }

  static let limit = 1_024

  /// A ring, made when the first line has to wait.
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
