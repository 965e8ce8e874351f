/// The requests that run on behalf of one connection, by their ids.
struct ClientRequests {
  /// What one id and its label take in a dictionary, which is at most three quarters full.
  private static let placeSize = 2 * MemoryLayout<String>.size * 4 / 3 + 1
  /// Of a string that has memory of its own.
  private static let textOverhead = 48
  /// Up to this many bytes a string has none.
  private static let shortText = 15

  private var labels: [String: String?] = [:]
  /// Of the ids and labels that are not short, in bytes.
  private var textSize = 0

  var count: Int { labels.count }

  /// Roughly the memory that they take, in bytes.
  var size: Int { labels.capacity * Self.placeSize + textSize }

  /// Roughly the memory that one more takes, in bytes.
  func growth(by id: String, label: String?) -> Int {
    let places = labels.count < labels.capacity ? 0 : max(labels.capacity, 1) * Self.placeSize
    return places + Self.size(of: id, label)
  }

  func isRunning(_ id: String) -> Bool { labels[id] != nil }

  /// An id that runs stays as it is.
  mutating func begin(_ id: String, label: String?) {
    guard !isRunning(id) else { return }
    labels[id] = .some(label)
    textSize += Self.size(of: id, label)
  }

  /// - Returns: false if no request has this id.
  mutating func end(_ id: String) -> Bool {
    guard let label = labels.removeValue(forKey: id) else { return false }
    textSize -= Self.size(of: id, label)
    // An idle client shall not hold what a busy moment needed.
    if labels.isEmpty { self = ClientRequests() }
    return true
  }

  /// Calls `body` with each label; requests without one are passed over.
  func forEachLabel(_ body: (String) -> Void) {
    for case .some(let label) in labels.values { body(label) }
  }

  private static func size(of id: String, _ label: String?) -> Int {
    [id, label ?? ""].reduce(0) { size, text in
      text.utf8.count > shortText ? size + text.utf8.count + textOverhead : size
    }
  }
}
