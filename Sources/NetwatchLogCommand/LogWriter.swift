import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLog

/// Reads lines from standard input, and stores the entries that a ``LogMachine`` makes of them, until the input ends.
final class LogWriter {
  /// The longest line that is read, in bytes. A line of the stream is always shorter.
  private static let longestLine = 65_536
  /// The most entries that wait while the disk is full.
  private static let mostWaiting = 1_024
  /// The time between two attempts to store the waiting entries.
  private static let retryDelay = Duration.seconds(10)
  /// The time between two notes in the log that the writer still runs. If the writer is killed or the machine loses power, it
  /// is known to have run until the last one. Each note writes one page.
  private static let signOfLife = Duration.seconds(300)
  /// The time after which new traffic is stored.
  private static let trafficDelay = Duration.seconds(60)
  /// The time that the writer waits for the end of its input after a signal.
  private static let grace = Duration.seconds(1)

  private let place: LogPlace
  private let store: LogStore
  private let loop: EventLoop
  private var machine = LogMachine()
  private var buffer: [UInt8] = []
  private var skipsLine = false
  private var waiting: [LogEntry] = []
  private var traffic: [TrafficTally.Sum] = []
  private var hasFailed = false
  private var failure: DatabaseError?
  private var input: EventLoop.Registration?
  private var clockWatch: WallClockWatch?
  private var signals: SignalSource?
  private var lifeTimer: LoopTimer?
  private var retryTimer: LoopTimer?
  private var trafficTimer: LoopTimer?

  init(_ place: LogPlace, sizeLimit: Int64) throws {
    self.place = place
    let opening = try LogStore.open(place, sizeLimit: sizeLimit)
    store = opening.store
    if let warning = opening.warning { StandardError.warn(warning.sanitizedForTerminal) }
    loop = try EventLoop()
    // A resume from suspend may come without a change of the path, so the clock is watched.
    clockWatch = try WallClockWatch(on: loop) { [unowned self] in
      // Lines that were written before the suspend are stored before it.
      readAll()
      store(machine.handle(.clock(.now)))
    }
    // systemd sends the signal to all processes of a service. The writer waits, so that the last lines of the service are not
    // lost.
    signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { [unowned self] _ in
      loop.schedule(after: Self.grace) { [unowned self] in loop.stop() }
    }
    lifeTimer = LoopTimer(on: loop) { [unowned self] in
      _ = attempt { () throws(DatabaseError) in try store.touch(.now) }
      lifeTimer?.set(after: Self.signOfLife)
    }
    retryTimer = LoopTimer(on: loop) { [unowned self] in store([]) }
    trafficTimer = LoopTimer(on: loop) { [unowned self] in
      traffic += machine.takeTraffic()
      store([])
    }
  }

  /// Runs until the end of the input. Throws a `PlainError` if the log is damaged, or a `SystemError` if the loop fails.
  func run() throws {
    do throws(SystemError) {
      input = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in
        if !read() { loop.stop() }
      }
      lifeTimer?.set(after: Self.signOfLife)
      try loop.run()
    } catch {
      // epoll cannot wait for regular files, so they are read directly.
      guard error.code == EPERM else { throw error }
      while failure == nil, read() {}
    }
    readAll()
    traffic += machine.takeTraffic()
    // The end of the input and a resume may come together.
    store(machine.handle(.clock(.now)))
    if let failure { throw PlainError(Self.sentence(failure, place)) }
    _ = attempt { () throws(DatabaseError) in try store.touch(.now) }
  }

  // MARK: The input

  private var isInputReady: Bool {
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&input, 1, 0) > 0
  }

  /// Reads what has been written so far.
  private func readAll() {
    while isInputReady {
      if !read() { return loop.stop() }
    }
  }

  /// Reads a part of the input and stores its lines.
  ///
  /// - Returns: Whether there may be more.
  private func read() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe NetwatchLibC.read(STDIN_FILENO, &bytes, bytes.count)
    guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
    buffer += bytes[..<count]
    var entries: [LogEntry] = []
    let now = LogMoment.now
    var start = buffer.startIndex
    while let end = buffer[start...].firstIndex(of: UInt8(ascii: "\n")) {
      if !skipsLine, let line = LogLine(buffer[start..<end], now: now) { entries += machine.handle(.line(line)) }
      skipsLine = false
      start = buffer.index(after: end)
    }
    buffer.removeSubrange(..<start)
    if buffer.count > Self.longestLine {
      buffer = []
      skipsLine = true
    }
    if !machine.traffic.isEmpty, trafficTimer?.deadline == nil { trafficTimer?.set(after: Self.trafficDelay) }
    store(entries)
    return true
  }

  // MARK: The database

  /// Stores the entries, after those that wait.
  private func store(_ entries: [LogEntry]) {
    waiting += entries
    guard failure == nil, !waiting.isEmpty || !traffic.isEmpty else { return }
    let isStored = attempt { () throws(DatabaseError) in try store.append(waiting, traffic: traffic) }
    if isStored {
      (waiting, traffic) = ([], [])
    } else {
      if waiting.count > Self.mostWaiting { waiting = waiting.merged(to: Self.mostWaiting) }
      retryTimer?.set(after: Self.retryDelay)
    }
  }

  /// Performs an action on the database. An error is reported once, until an action succeeds again.
  ///
  /// - Returns: Whether the action has succeeded.
  private func attempt(_ body: () throws(DatabaseError) -> Void) -> Bool {
    do throws(DatabaseError) {
      try body()
      hasFailed = false
      return true
    } catch {
      if error.kind == .damaged {
        failure = error
        loop.stop()
      } else if !hasFailed {
        StandardError.warn(Self.sentence(error, place).sanitizedForTerminal)
      }
      hasFailed = true
      return false
    }
  }

  private static func sentence(_ error: DatabaseError, _ place: LogPlace) -> String {
    switch error.kind {
    case .full:
      "no room is left for the log '\(place.file)'; the last \(mostWaiting) changes wait until there is some"
    case .busy: "another process holds the log '\(place.file)'; changes wait until it has finished"
    case .damaged: "the log '\(place.file)' is damaged, so nothing more is stored; the next start begins a new one"
    case .notPermitted, .other: "cannot write the log '\(place.file)': \(error)"
    }
  }
}
