import CLinux
import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// Sends changes to `netwatch-log`, which stores them. The feed never waits for that program: lines for which the pipe has no
/// room wait in memory.
final class LogFeed {
  /// The time that the program has for the remaining lines when netwatch ends.
  private static let grace = Duration.seconds(1)

  private let loop: EventLoop
  private let pipe: Pipe
  private var registration: EventLoop.Registration?
  private var writer = JSONLineWriter()
  /// Nil if the kernel does not tell about cables.
  private let cables = try? CableReader()
  private var queue = LogQueue()
  /// The link that carries the traffic, or did so last; nil before the first.
  private var carrier: Int32?
  /// The last record about the path, and how often ``carrier`` had lost its carrier by then.
  private var last: (record: EventRecord, losses: Int?)?
  /// The newest traffic line that waits; nil for none. Its figures are totals, so earlier ones do not have to be stored.
  private var traffic: LogQueue.Item?
  private var isWaitingForRoom = false
  /// Whether the program runs.
  private var isRunning = true
  private var isFinishing = false

  /// Starts `netwatch-log`.
  ///
  /// - Throws: A `PlainError` if the program or its library is not installed, or the kernel is older than Linux 5.3. A
  ///   `SystemError` if the program cannot be started.
  init(on loop: EventLoop) throws {
    guard ChildProcess.canTellEndings else { throw PlainError("--log needs Linux 5.3 or later") }
    let program = try HelperProgram.log.find(for: "--log")
    try HelperProgram.log.checkLibraries(of: program)
    self.loop = loop
    pipe = try Pipe()
    guard fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0 else { throw SystemError.last("fcntl") }
    // When the program ends, writing fails with EPIPE.
    SignalSource.discard([SIGPIPE])
    let process = try ChildProcess.spawn(
      program, ["write"], descriptors: [(pipe.read, STDIN_FILENO), (STDERR_FILENO, STDOUT_FILENO)], closesOthers: true)
    pipe.closeRead()
    try ChildProcess.whenEnded(process, on: loop) { [weak self] ending in self?.writerEnded(ending) }
    registration = try loop.watch(pipe.write, for: []) { [unowned self] readiness in
      if readiness.contains(.writable) { writeWaiting() } else { stop() }
    }
  }

  /// Stores a record about the path or about traffic. Other records are ignored.
  func add(_ record: EventRecord) {
    guard isRunning else { return }
    switch record.event {
    case .initial, .reachability:
      carrier = record.path.interfaceIndex ?? carrier
      last = (record, losses(in: record.path))
      send(record)
    case .traffic:
      let item = LogQueue.Item(line: line(record))
      if queue.count == 0, write(item) {
        // An older sample that waits would follow a newer one, and look like a counter that begins anew.
        traffic = nil
      } else {
        traffic = item
        waitForRoom(true)
      }
    case .activity, .interfaces, .wifi, .quality, .stages: break
    }
  }

  /// Stores that the link which carries the traffic has lost its carrier and has it back, if that is what has changed.
  func linksChanged(_ path: NetworkPath, at moment: EventTimestamp) {
    guard isRunning, var record = last?.record, let losses = losses(in: path), losses != last?.losses else { return }
    record.path = path.with(reason: record.path.reason)
    last = (record, losses)
    record.event = .interfaces
    record.timestamp = moment
    send(record)
  }

  /// Returns why WiFi has ended or was refused, or else what is known of the cable; nil if nothing is.
  private func note(of record: EventRecord) -> String? {
    guard record.event == .initial || record.event == .reachability else { return nil }
    cables?.follow(record.path, after: record.lost)
    return record.wifiEnding?.description ?? cables?.cable?.words
  }

  private func losses(in path: NetworkPath) -> Int? { carrier.flatMap { path.links.interface($0)?.carrierLosses } }

  /// Waits until everything is stored, for at most 1 second.
  func finish() throws {
    guard isRunning else { return }
    isFinishing = true
    writeWaiting()
    let timer = LoopTimer(on: loop) { [unowned self] in loop.stop() }
    timer.set(after: Self.grace)
    try loop.run()
  }

  // MARK: Lines

  /// Returns the line of the stream with the time of the clock that also runs during a suspend. The end of the line, with the
  /// number of changes, is added later.
  private func line(_ record: EventRecord) -> [UInt8] {
    var record = record
    // Fields that the log does not store could make the line too long for one write.
    record.listsInterfaces = false
    record.tellsQuality = false
    record.stages = nil
    record.portalURL = nil
    record.announcements = nil
    record.tellsCable = false
    record.uplinks = nil
    writer.write(record)
    let suspended = KernelClock.boot.nanoseconds - KernelClock.monotonic.nanoseconds
    let boot = record.monotonicNanoseconds.addingReportingOverflow(suspended).partialValue
    var log = #","log":{"boot_ns":\#(boot),"#
    // The total, so that a line that is merged with the next one takes no loss with it.
    if let carrier, let losses = losses(in: record.path) {
      log += #""carrier":\#(carrier),"carrier_losses":\#(losses),"#
    }
    if let note = note(of: record) { log += #""note":\#(note.json),"# }
    return writer.line.dropLast(2) + Array((log + #""changes":"#).utf8)
  }

  /// Writes the line of a record, after those that wait.
  private func send(_ record: EventRecord) {
    let item = LogQueue.Item(line: line(record))
    if queue.count == 0, write(item) { return }
    queue.append(item)
    waitForRoom(true)
  }

  private func writeWaiting() {
    while let item = queue.first, write(item) { queue.removeFirst() }
    if queue.count == 0, let item = traffic, write(item) { traffic = nil }
    let hasMore = queue.count > 0 || traffic != nil
    waitForRoom(hasMore)
    if isFinishing, !hasMore { stop() }
  }

  private func waitForRoom(_ isWanted: Bool) {
    guard isWanted != isWaitingForRoom, isRunning, let registration else { return }
    isWaitingForRoom = isWanted
    try? loop.change(registration, to: isWanted ? .writable : [])
  }

  /// Writes a line to the pipe, which takes a line of up to 4,096 bytes completely or not at all.
  ///
  /// - Returns: False if the pipe has no room.
  private func write(_ item: LogQueue.Item) -> Bool {
    let line = item.line + Array("\(item.changes)}}\n".utf8)
    let count = unsafe NetwatchLibC.write(pipe.write, line, line.count)
    return count >= 0 || errno != EAGAIN
  }

  // MARK: The end of the program

  /// Closes the pipe, because nobody reads any more or everything is written.
  private func stop() {
    if let registration { loop.remove(registration) }
    registration = nil
    pipe.closeWrite()
    queue = LogQueue()
    traffic = nil
  }

  private func writerEnded(_ ending: ProcessEnding) {
    isRunning = false
    stop()
    if isFinishing { return loop.stop() }
    switch ending {
    case .killed(let signal):
      StandardError.warn("\(HelperProgram.log.name) was ended by signal \(signal); changes are not logged any more")
    case .exited(0): StandardError.warn("\(HelperProgram.log.name) has ended; changes are not logged any more")
    // The program has reported the error itself.
    case .exited: break
    }
  }
}

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
