import CLinux
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

/// Hands changes to `netwatch-log`, which stores them. It never waits for that program: what its pipe has no room for waits in
/// memory.
final class LogFeed {
  /// How long the program may take for what is left when netwatch ends.
  private static let grace = Duration.seconds(1)

  private let loop: EventLoop
  private let pipe: Pipe
  private var registration: EventLoop.Registration?
  private var writer = JSONLineWriter()
  private var queue = LogQueue()
  /// The newest figures, which count from the beginning, so that those before need not be stored.
  private var traffic: LogQueue.Item?
  private var isWaitingForRoom = false
  /// Whether the program is there.
  private var isRunning = true
  private var isFinishing = false

  /// - Throws: a sentence if the program or its library is not installed, or the kernel is too old.
  init(on loop: EventLoop) throws {
    guard ChildProcess.canTellEndings else { throw PlainError("--log needs Linux 5.3 or later") }
    let program = try HelperProgram.log.find(for: "--log")
    try HelperProgram.log.checkLibraries(of: program)
    self.loop = loop
    pipe = try Pipe()
    guard fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0 else { throw SystemError.last("fcntl") }
    // The end of the program shows as EPIPE.
    signal(SIGPIPE, SIG_IGN)
    let process = try ChildProcess.spawn(
      program, ["write"], descriptors: [(pipe.read, STDIN_FILENO), (STDERR_FILENO, STDOUT_FILENO)], closesOthers: true)
    pipe.closeRead()
    try ChildProcess.whenEnded(process, on: loop) { [weak self] ending in self?.writerEnded(ending) }
    registration = try loop.watch(pipe.write, for: []) { [unowned self] readiness in
      if readiness.contains(.writable) { writeWaiting() } else { stop() }
    }
  }

  /// Stores what the record says of the path or of traffic; nothing of it if it is about anything else.
  func add(_ record: EventRecord) {
    guard isRunning else { return }
    switch record.event {
    case .initial, .reachability:
      let item = LogQueue.Item(line: line(record))
      if queue.count > 0 || !write(item) { wait(for: item) }
    case .traffic:
      let item = LogQueue.Item(line: line(record))
      if queue.count > 0 || !write(item) { traffic = item }
    case .activity, .interfaces, .wifi, .quality, .stages: break
    }
  }

  /// Waits until everything is stored, but not long.
  func finish() throws {
    guard isRunning else { return }
    isFinishing = true
    writeWaiting()
    let timer = LoopTimer(on: loop) { [unowned self] in loop.stop() }
    timer.set(after: Self.grace)
    try loop.run()
  }

  // MARK: Lines

  /// The line of the stream, with the clock that also counts during a suspend. It has no end yet.
  private func line(_ record: EventRecord) -> [UInt8] {
    var record = record
    // What the log does not store could make the line too long for one write.
    record.listsInterfaces = false
    record.tellsQuality = false
    record.stages = nil
    record.portalURL = nil
    writer.write(record)
    let suspended = KernelClock.boot.nanoseconds - KernelClock.monotonic.nanoseconds
    let boot = record.monotonicNanoseconds.addingReportingOverflow(suspended).partialValue
    return writer.line.dropLast(2) + Array(#","log":{"boot_ns":\#(boot),"changes":"#.utf8)
  }

  private func wait(for item: LogQueue.Item) {
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

  /// - Returns: false if there is no room. A pipe takes a line of up to 4,096 bytes whole or not at all.
  private func write(_ item: LogQueue.Item) -> Bool {
    let line = item.line + Array("\(item.changes)}}\n".utf8)
    let count = unsafe Glibc.write(pipe.write, line, line.count)
    return count >= 0 || errno != EAGAIN
  }

  // MARK: The end of the program

  /// Nobody reads any more, or everything is written.
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
      StandardError.tell("\(HelperProgram.log.name) was ended by signal \(signal); changes are not logged any more")
    case .exited(0): StandardError.tell("\(HelperProgram.log.name) has ended; changes are not logged any more")
    // It has said why.
    case .exited: break
    }
  }
}
