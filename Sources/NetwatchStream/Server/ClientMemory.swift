/// What all clients together make the service keep: lines that they do not read, lines that they have not finished, ids
/// and labels. In bytes; whoever changes something says so.
struct ClientMemory {
  static let standardLimit = 64 << 20

  private let limit: Int
  private(set) var used = 0
  /// From three quarters of the limit until only half of it is used. Queues of answers collapse then, and are kept short.
  private(set) var isTight = false

  init(limit: Int) { self.limit = limit }

  /// Whether a request may begin that takes so much. The rest is for lines and answers.
  func allowsRequest(of size: Int) -> Bool { size <= limit / 8 * 7 - used }

  /// From here on a client that makes it more has to go.
  var isExhausted: Bool { used > limit }

  /// Takes note that a client has `new` instead of `old`.
  mutating func change(from old: Int, to new: Int) {
    used += new - old
    isTight = used > (isTight ? limit / 2 : limit / 4 * 3)
  }
}
