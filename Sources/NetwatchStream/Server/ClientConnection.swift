import Glibc
import Netwatch
import NetwatchEventLoop

/// One client of the service: what it has not got yet, what it has begun to write, and what runs on its behalf.
///
/// The service keeps a bounded amount for each client: the rest of one line and some answers. A client that does not read
/// misses events, but not the newest one; if a client does not read its answers, the service does not read from it.
final class ClientConnection {
  let descriptor: FileDescriptor
  var registration: EventLoop.Registration?
  let user: uid_t
  /// Whether it may begin requests, and end them.
  let mayBegin: Bool
  var wantsEvents = true {
    // Nothing is owed to one that wants none.
    didSet { if !wantsEvents { isBehind = false } }
  }
  /// How often it gets figures of the link; nil for never.
  var trafficInterval: Duration?
  var wifi = WiFiSubscription()
  /// What it was told of how well the link works; nil if it has not asked.
  var quality: QualityNews?
  var requests = ClientRequests()
  /// Whether it has the present state as its first line. Until then a line for it is one.
  var isGreeted = false
  /// Whether only a few answers may wait, because memory is. What is more is left out, and the newest state stands for it.
  var isShort = false { didSet { if isShort, isFull { collapse() } } }
  /// What the server has taken note of as its ``size``.
  var notedSize = 0
  /// It has closed its writing side; it may still read.
  private(set) var isInputOver = false
  /// An event has been left out; the newest line is owed.
  private(set) var isBehind = false
  private var output: [UInt8] = []
  private var input: [UInt8] = []

  static let lineLimit = 4_096
  private static let usualAnswerLimit = 16 << 10
  private static let shortAnswerLimit = 2 << 10

  init(_ descriptor: consuming FileDescriptor, user: uid_t, mayBegin: Bool) {
    self.descriptor = descriptor
    self.user = user
    self.mayBegin = mayBegin
  }

  /// Roughly what it makes the service keep, in bytes.
  var size: Int { output.capacity + input.capacity + requests.size }

  /// So much of its answers waits that no more of its lines are looked at.
  private var isFull: Bool { output.count >= answerLimit }
  private var answerLimit: Int { isShort ? Self.shortAnswerLimit : Self.usualAnswerLimit }

  /// What to wait for.
  var interest: EventLoop.Readiness {
    var interest: EventLoop.Readiness = []
    if !isInputOver, !isFull { interest.insert(.readable) }
    if !output.isEmpty || isBehind { interest.insert(.writable) }
    return interest
  }

  // MARK: Writing

  /// Writes a line of the stream if there is room, else leaves it out.
  ///
  /// - Returns: False if the client is gone, here and below.
  func offer(_ line: RawSpan) -> Bool {
    guard output.isEmpty, !isBehind else {
      isBehind = true
      return true
    }
    guard let hasRoom = begin(line) else { return false }
    if hasRoom { isGreeted = true } else { isBehind = true }
    return true
  }

  /// Writes a line that says nothing of the state, if there is room; else nobody misses it.
  func offer(passing line: RawSpan) -> Bool {
    guard output.isEmpty, !isBehind, isGreeted else { return true }
    return begin(line) != nil
  }

  /// Writes a line where nothing is under way, and keeps what of it has no room.
  ///
  /// - Returns: whether there is room for any of it; nil if the client is gone.
  private func begin(_ line: RawSpan) -> Bool? {
    guard let written = unsafe line.withUnsafeBytes({ unsafe write($0) }) else { return nil }
    guard written > 0 else { return false }
    if written < line.byteCount {
      unsafe line.withUnsafeBytes { unsafe output.append(contentsOf: $0[written...]) }
    }
    return true
  }

  /// Writes an answer, after what is under way.
  func answer(_ text: String) -> Bool {
    output += Array(text.utf8)
    return flush(newest: nil)
  }

  /// Writes what is owed.
  ///
  /// - Parameter newest: The line with the present state; nil if there is none, or the client does not want it now.
  func flush(newest: RawSpan?) -> Bool {
    if !output.isEmpty {
      guard let written = unsafe output.withUnsafeBytes({ unsafe write($0) }) else { return false }
      output.removeFirst(written)
      // An idle client shall not hold what a busy moment needed.
      if output.isEmpty { output = [] }
    }
    if output.isEmpty, isBehind, let newest {
      isBehind = false
      return offer(newest)
    }
    return true
  }

  /// Leaves out the lines that wait behind the one under way.
  private func collapse() {
    guard let end = output.firstIndex(of: UInt8(ascii: "\n")), end + 1 < output.endIndex else { return }
    output = Array(output[...end]) + Array(ProtocolError.line("answers were left out, because nobody read them").utf8)
    isBehind = wantsEvents
  }

  /// Tells the client why its connection ends, if there is room: nobody waits for a client to read.
  @discardableResult func end(because message: String) -> Bool {
    _ = answer(ProtocolError.line(message))
    return false
  }

  /// - Returns: how many bytes were taken; nil if the client is gone.
  private func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    while true {
      let count = unsafe send(descriptor.rawValue, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      default: return nil
      }
    }
  }

  // MARK: Reading

  /// - Returns: The number of bytes that have come, which may be 0; nil if the client is gone.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let room = isShort ? min(buffer.count, Self.lineLimit) : buffer.count
    while true {
      let count = unsafe recv(descriptor.rawValue, buffer.baseAddress, room, 0)
      if count == 0 { isInputOver = true }
      if count >= 0 { return count }
      switch errno {
      case EINTR: continue
      case EAGAIN: return 0
      default: return nil
      }
    }
  }

  /// Splits what has come into lines; the rest waits for its newline, or for room for answers.
  ///
  /// - Parameter body: gets each line without its newline; false stops.
  /// - Returns: false if a line is longer than any may be.
  func splitLines(_ bytes: UnsafeRawBufferPointer, _ body: (ArraySlice<UInt8>) -> Bool) -> Bool {
    unsafe input.append(contentsOf: bytes)
    var start = input.startIndex
    while !isFull, let end = input[start...].firstIndex(of: UInt8(ascii: "\n")) {
      guard end - start <= Self.lineLimit else { return false }
      let line = input[start..<end]
      start = end + 1
      if !body(line) {
        input = []
        return true
      }
    }
    input = start == input.endIndex ? [] : Array(input[start...])
    return isFull || input.count <= Self.lineLimit
  }
}

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

/// What all clients together make the service keep: lines that they do not read, lines that they have not finished, ids
/// and labels. In bytes; whoever changes something says so.
struct ClientMemory {
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
