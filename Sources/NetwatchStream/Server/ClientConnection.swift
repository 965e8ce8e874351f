import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// One client of the service: its connection, the output that waits for it, its unfinished input, and the requests that run for
/// it.
///
/// The service keeps a bounded amount for each client: some lines and some responses. A client that does not read misses events,
/// but not the newest one. If a client does not read its responses, the service does not read from it.
final class ClientConnection {
  let descriptor: FileDescriptor
  /// The registration with the loop. Nil if the client has gone; what it has sent before may still wait.
  var registration: EventLoop.Registration?
  /// The readiness of the socket that the loop waits for.
  var watched: EventLoop.Readiness = []
  let user: uid_t
  /// Whether the client may begin and end requests.
  let mayBegin: Bool
  var wantsEvents = true {
    // A client that wants no events does not need the newest line.
    didSet { if !wantsEvents { isBehind = false } }
  }
  /// The time between two lines with traffic; nil for none.
  var trafficInterval: Duration?
  var wifi = WiFiSubscription()
  /// The figures of the link's quality that the client was sent last; nil if the client has not asked for them.
  var quality: QualityNews?
  /// Whether the client has asked for figures or values of the WiFi network.
  var hasWishes: Bool { trafficInterval != nil || quality != nil || wifi.reporting.isWanted }
  var requests = ClientRequests()
  /// Whether the client waits for the current state as its first line. Until then it is not read from, and gets no other line.
  var isArriving = true
  /// Whether the client has asked for values that it gets at the end of this turn of the loop. Its next lines are handled after
  /// that, so that its answers have the order of its questions.
  var awaitsAnswer = false
  /// Whether the client has received the current state as its first line. Until then, the next line for it is its first line.
  var isGreeted = false
  /// Whether only a few responses may wait, because memory is short. Further responses are left out; the client gets the newest
  /// state instead.
  var isShort = false { didSet { if isShort, isFull { collapse() } } }
  /// The ``size`` that the server has last counted.
  var notedSize = 0
  /// Whether the client has closed its writing side. It may still read.
  private(set) var isInputOver = false
  /// Whether an event has been left out, so that the client has to get the newest line.
  private var isBehind = false
  /// Whether a line is complete that was not handled yet.
  private(set) var hasLine = false
  private var output: [UInt8] = []
  private var input: [UInt8] = []
  /// The number of bytes at the beginning of the input that are known to have no newline.
  private var searched = 0

  private static let usualAnswerLimit = 16 << 10
  private static let shortAnswerLimit = 2 << 10

  init(_ descriptor: consuming FileDescriptor, user: uid_t, mayBegin: Bool) {
    self.descriptor = descriptor
    self.user = user
    self.mayBegin = mayBegin
  }

  /// The approximate memory that the service uses for this client, in bytes.
  var size: Int { output.capacity + input.capacity + requests.size }

  /// Whether the waiting responses have reached their limit, so that the service reads no more lines of this client.
  var isFull: Bool { output.count >= answerLimit }
  private var answerLimit: Int { isShort ? Self.shortAnswerLimit : Self.usualAnswerLimit }

  /// The readiness of the socket to wait for, if the client has its turn.
  var interest: EventLoop.Readiness {
    var interest: EventLoop.Readiness = []
    if !isInputOver, !isFull { interest.insert(.readable) }
    if !output.isEmpty || isBehind { interest.insert(.writable) }
    return interest
  }

  // MARK: Writing

  /// Writes a line of the stream if there is room; else leaves it out.
  ///
  /// - Returns: False if the client is gone. This also holds for the methods below.
  func offer(_ line: RawSpan) -> Bool {
    guard output.isEmpty, !isBehind else {
      isBehind = true
      return true
    }
    guard let hasRoom = begin(line) else { return false }
    if hasRoom { isGreeted = true } else { isBehind = true }
    return true
  }

  /// Writes a line that does not change the state, if there is room. Otherwise the line is dropped and not sent later.
  func offer(passing line: RawSpan) -> Bool {
    guard output.isEmpty, !isBehind, isGreeted else { return true }
    return begin(line) != nil
  }

  /// Writes a line when no output waits, and keeps the part that has no room.
  ///
  /// - Returns: Whether any part of the line was taken; nil if the client is gone.
  private func begin(_ line: RawSpan) -> Bool? {
    guard let written = unsafe line.withUnsafeBytes({ unsafe write($0) }) else { return nil }
    guard written > 0 else { return false }
    if written < line.byteCount {
      unsafe line.withUnsafeBytes { unsafe output.append(contentsOf: $0[written...]) }
    }
    return true
  }

  /// Writes a response after the output that waits.
  func answer(_ text: String) -> Bool {
    output += Array(text.utf8)
    return flush(newest: nil)
  }

  /// Writes the output that waits, then the newest line if an event was left out.
  ///
  /// - Parameter newest: The line with the current state; nil if there is none, or the client does not want it now.
  func flush(newest: RawSpan?) -> Bool {
    if !output.isEmpty {
      guard let written = unsafe output.withUnsafeBytes({ unsafe write($0) }) else { return false }
      output.removeFirst(written)
      // An idle client must not keep the memory that a busy moment needed.
      if output.isEmpty { output = [] }
    }
    if output.isEmpty, isBehind, let newest {
      isBehind = false
      return offer(newest)
    }
    return true
  }

  /// Drops the lines that wait behind the one that is being written.
  private func collapse() {
    guard let end = output.firstIndex(of: UInt8(ascii: "\n")), end + 1 < output.endIndex else { return }
    output = Array(output[...end]) + Array(ProtocolError.line("answers were left out, because nobody read them").utf8)
    isBehind = wantsEvents
  }

  /// Sends the client the reason why its connection ends, if there is room. The service does not wait for a client to read.
  @discardableResult func end(because message: String) -> Bool {
    _ = answer(ProtocolError.line(message))
    return false
  }

  /// - Returns: The number of bytes that were taken; nil if the client is gone.
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

  /// Reads from the socket, at most ``lineLimit`` bytes.
  ///
  /// - Returns: False if the client is gone.
  func read() -> Bool {
    unsafe withUnsafeTemporaryAllocation(byteCount: ClientMessage.lineLimit, alignment: 1) { buffer in
      while true {
        let count = unsafe recv(descriptor.rawValue, buffer.baseAddress, buffer.count, 0)
        if count == 0 { isInputOver = true }
        if count >= 0 {
          unsafe input.append(contentsOf: buffer[..<count])
          return true
        }
        switch errno {
        case EINTR: continue
        case EAGAIN: return true
        default: return false
        }
      }
    }
  }

  /// Splits the input into lines. The rest waits for its newline, or for room for responses.
  ///
  /// - Parameter body: The closure that gets each line without its newline. It returns false to leave the others for later.
  /// - Returns: False if a line exceeds the limit.
  func splitLines(_ body: (ArraySlice<UInt8>) -> Bool) -> Bool {
    var start = 0
    var goesOn = true
    while goesOn, !isFull, let end = nextNewline {
      guard end - start <= ClientMessage.lineLimit else { return false }
      goesOn = body(input[start..<end])
      start = end + 1
      searched = start
    }
    hasLine = nextNewline != nil
    // An idle client must not keep the memory that a busy moment needed.
    if start > 0 { input = start == input.count ? [] : Array(input[start...]) }
    searched = hasLine ? 0 : input.count
    return hasLine || input.count <= ClientMessage.lineLimit
  }

  /// The place of the first newline in the part of the input that was not searched yet.
  private var nextNewline: Int? { input[searched...].firstIndex(of: UInt8(ascii: "\n")) }
}

/// The requests that run for one connection, by their ids.
struct ClientRequests {
  /// The memory of one id and its label in a dictionary, which is at most three quarters full.
  private static let placeSize = 2 * MemoryLayout<String>.size * 4 / 3 + 1
  /// The overhead of a string that has its own memory.
  private static let textOverhead = 48
  /// The most bytes of a string that needs no memory outside the dictionary.
  private static let shortText = 15

  private var labels: [String: String?] = [:]
  /// The memory of the ids and labels that are not short, in bytes.
  private var textSize = 0
  /// The requests without ids.
  private(set) var announced = RunningRequests()
  /// The approximate memory of the requests without ids, in bytes.
  private var announcedSize = 0

  var count: Int { labels.count + announced.count }

  /// The approximate memory of all requests, in bytes.
  var size: Int { labels.capacity * Self.placeSize + textSize + announcedSize }

  /// Returns the approximate memory that one more request takes, in bytes.
  func growth(by id: String, label: String?) -> Int {
    let places = labels.count < labels.capacity ? 0 : max(labels.capacity, 1) * Self.placeSize
    return places + Self.size(of: id, label)
  }

  func isRunning(_ id: String) -> Bool { labels[id] != nil }

  /// Begins a request. If its id already runs, nothing changes.
  mutating func begin(_ id: String, label: String?) {
    guard !isRunning(id) else { return }
    labels[id] = .some(label)
    textSize += Self.size(of: id, label)
  }

  /// Ends a request. Returns false if no request has this id.
  mutating func end(_ id: String) -> Bool {
    guard let label = labels.removeValue(forKey: id) else { return false }
    textSize -= Self.size(of: id, label)
    // An idle client must not keep the memory that a busy moment needed.
    if labels.isEmpty { labels = [:] }
    return true
  }

  /// Replaces the requests without ids.
  mutating func announce(_ requests: RunningRequests) {
    announced = requests
    announcedSize = Self.size(of: requests)
  }

  /// Calls `body` with each label and the number of its requests. Requests without a label are skipped.
  func forEachLabel(_ body: (String, Int) -> Void) {
    for case .some(let label) in labels.values { body(label, 1) }
    for (label, count) in announced.labels { body(label, count) }
  }

  /// Returns the approximate memory that these requests without ids take more than those that run, in bytes.
  func growth(by requests: RunningRequests) -> Int { Self.size(of: requests) - announcedSize }

  private static func size(of requests: RunningRequests) -> Int {
    requests.labels.keys.reduce(requests.labels.capacity * placeSize) { $0 + size(of: $1, nil) }
  }

  private static func size(of id: String, _ label: String?) -> Int {
    [id, label ?? ""].reduce(0) { size, text in
      text.utf8.count > shortText ? size + text.utf8.count + textOverhead : size
    }
  }
}

/// The memory that the service uses for all clients, in bytes: lines that they have not read, unfinished lines, ids and labels.
/// Code that changes any of these must call ``change(from:to:)``.
struct ClientMemory {
  private let limit: Int
  private(set) var used = 0
  /// Whether memory is short: from three quarters of the limit until only half of it is used. Meanwhile, queues of responses
  /// are cut and kept short.
  private(set) var isTight = false

  init(limit: Int) { self.limit = limit }

  /// Returns whether a request of this size may begin. An eighth of the limit is kept for lines and responses.
  func allowsRequest(of size: Int) -> Bool { size <= limit / 8 * 7 - used }

  /// Whether the limit is exceeded. A client that then needs more memory is disconnected.
  var isExhausted: Bool { used > limit }

  /// Notes that the memory of a client changes from `old` to `new`.
  mutating func change(from old: Int, to new: Int) {
    used += new - old
    isTight = used > (isTight ? limit / 2 : limit / 4 * 3)
  }
}

/// What a client asks of the WiFi network, and the signal that it was sent last.
struct WiFiSubscription {
  var reporting = WiFiReporting()
  /// The signal that was sent last; nil before the first response.
  private var lastSent: WiFiSignal?

  /// Returns whether a record that is only about the WiFi network is for this client. Other clients may have asked for more.
  func isNews(_ record: EventRecord) -> Bool {
    guard record.path.reason == .signalChanged else { return reporting.isWanted }
    guard let signal = record.path.wifi?.signal, let lastSent else { return false }
    return reporting.signal?.hasNews(signal, after: lastSent) ?? false
  }

  /// Notes that the client gets this record.
  mutating func note(_ record: EventRecord) {
    guard reporting.signal != nil else { return }
    lastSent = record.path.wifi?.signal
  }
}
