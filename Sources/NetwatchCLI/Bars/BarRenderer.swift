import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Lines for a bar: each says something else than the one before, unless the bar wants it twice.
final class BarRenderer: LineRenderer {
  private let format: BarFormat
  private var writer: BarLineWriter
  private var printed = LineBuffer()
  private var hasPrinted = false
  /// Whether the writer's line is that of the record that comes to be printed.
  private var isReady = false
  private var repetition: LoopTimer?
  private weak var loop: EventLoop?
  private var clicks: EventLoop.Registration?
  private var fail: ((any Error) -> Void)?

  init(_ format: BarFormat, _ look: BarLook) throws(PlainError) {
    self.format = format
    writer = try BarLineWriter(format, look)
  }

  func prepare(on loop: EventLoop) throws {
    self.loop = loop
    if format.getsClicks { try drainClicks(on: loop) }
  }

  /// Reads what the bar says of clicks, and forgets it: a bar whose pipe is full would wait for us.
  ///
  /// Nothing where standard input is no pipe: a terminal's belongs to somebody else.
  private func drainClicks(on loop: EventLoop) throws(SystemError) {
    var status = stat()
    guard unsafe fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
    clicks = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self, unowned loop] _ in
      var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
      let count = unsafe read(STDIN_FILENO, &bytes, MemoryLayout.size(ofValue: bytes))
      // Its end is nothing to us.
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR, let clicks { loop.remove(clicks) }
    }
  }

  func onFailure(_ body: @escaping (any Error) -> Void) { fail = body }

  func shows(_ record: EventRecord) -> Bool {
    writer.write(record)
    isReady = true
    return !hasPrinted || !writer.line.equals(printed)
  }

  func print(_ record: EventRecord, to output: StandardOutput) throws(PlainError) {
    if !isReady { writer.write(record) }
    isReady = false
    try printLine(to: output)
  }

  /// The bar must not go on showing what nobody watches any more.
  func printEnd(to output: StandardOutput) throws(PlainError) {
    writer.writeEnd()
    try printLine(to: output)
  }

  private func printLine(to output: StandardOutput) throws(PlainError) {
    if hasPrinted, writer.line.equals(printed) { return }
    if !hasPrinted, format.header.utf8CodeUnitCount > 0 {
      var header = LineBuffer(capacity: 64)
      header.append(format.header)
      try output.write(header)
    }
    try output.write(writer.line, after: hasPrinted ? 0 : format.separator.utf8CodeUnitCount)
    hasPrinted = true
    printed.removeAll()
    printed.append(writer.line)
    scheduleRepetition(to: output)
  }

  private func scheduleRepetition(to output: StandardOutput) {
    guard let delay = format.repetition, let loop else { return }
    if repetition == nil {
      repetition = LoopTimer(on: loop) { [unowned self] in
        do throws(PlainError) {
          try output.write(printed)
        } catch {
          fail?(error)
        }
      }
    }
    repetition?.set(after: delay)
  }
}

extension StandardOutput {
  fileprivate func write(_ line: borrowing LineBuffer, after start: Int = 0) throws(PlainError) {
    try line.withBytes { bytes throws(PlainError) in try write(bytes.extracting(droppingFirst: start)) }
  }
}
