import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchStream

/// Prints lines for a bar. A line that is equal to the previous one is not printed, unless the bar needs it twice.
final class BarRenderer: LineRenderer {
  private let format: BarFormat
  private var writer: BarLineWriter
  private var printed = LineBuffer()
  private var hasPrinted = false
  private var repetition: LoopTimer?
  /// Where the line was printed; nil before the first one.
  private var output: StandardOutput?
  private var clicks: BarClicks?
  /// Whether a click opens the login page of the last record.
  private let opensPortal: Bool
  private var portal: PortalURL?
  private var failed: (any Error) -> Void = { _ in }

  /// Creates a renderer that has printed nothing yet.
  ///
  /// - Parameter opensPortal: Whether a click opens a login page. Default: false.
  /// - Throws: A `PlainError` if the template is wrong for this bar.
  init(_ format: BarFormat, _ look: BarLook, opensPortal: Bool = false) throws(PlainError) {
    self.format = format
    self.opensPortal = opensPortal
    writer = try BarLineWriter(format, look)
  }

  func prepare(on loop: EventLoop, failed: @escaping (any Error) -> Void) throws {
    self.failed = failed
    if format.repetition != nil { repetition = LoopTimer(on: loop) { [unowned self] in repeatLine() } }
    guard format.getsClicks || opensPortal && format.clickHeader != nil else { return }
    clicks = try BarClicks(on: loop) { [unowned self, unowned loop] in
      guard opensPortal, let portal else { return }
      PortalOpener.start(portal, on: loop)
    }
  }

  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) throws(PlainError) -> Bool {
    portal = record.loginPage
    writer.write(record)
    return try printLine(to: output)
  }

  /// Clears the bar's text, because a bar must not show a state that is no longer updated.
  func printEnd(to output: StandardOutput) throws(PlainError) {
    writer.writeEnd()
    _ = try printLine(to: output)
  }

  /// Returns false if the line is the one that the bar shows.
  private func printLine(to output: StandardOutput) throws(PlainError) -> Bool {
    if hasPrinted, writer.line.equals(printed) { return false }
    let start = opensPortal ? format.clickHeader ?? format.header : format.header
    if !hasPrinted, start.utf8CodeUnitCount > 0 {
      var header = LineBuffer(capacity: 64)
      header.append(start)
      try output.write(header)
    }
    try output.write(writer.line, after: hasPrinted ? 0 : format.separator.utf8CodeUnitCount)
    hasPrinted = true
    printed.removeAll()
    printed.append(writer.line)
    self.output = output
    if let delay = format.repetition { repetition?.set(after: delay) }
    return true
  }

  private func repeatLine() {
    do throws(PlainError) {
      try output?.write(printed)
    } catch {
      failed(error)
    }
  }
}

extension StandardOutput {
  fileprivate func write(_ line: borrowing LineBuffer, after start: Int = 0) throws(PlainError) {
    try line.withBytes { bytes throws(PlainError) in try write(bytes.extracting(droppingFirst: start)) }
  }
}

/// Reads the clicks that a bar writes to standard input.
///
/// They are read even if a click does nothing, because a bar blocks when its pipe is full. If standard input is not a pipe, it
/// is not read: the input of a terminal belongs to another program.
final class BarClicks {
  /// The most bytes that are kept of a line. No bar writes more about a click.
  private static let longestLine = 4_096

  private let loop: EventLoop
  private let clicked: () -> Void
  private var registration: EventLoop.Registration?
  private var line: [UInt8] = []

  /// Starts to read clicks. Nil if standard input is not a pipe.
  ///
  /// - Parameter clicked: The closure that is called for each click with the left button.
  init?(on loop: EventLoop, clicked: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    self.clicked = clicked
    var status = stat()
    guard unsafe fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
    registration = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in read() }
  }

  deinit { if let registration { loop.remove(registration) } }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: Self.longestLine)
    let count = unsafe NetwatchLibC.read(STDIN_FILENO, &bytes, bytes.count)
    guard count > 0 else {
      // The end of the input only means that there are no more clicks.
      if count == 0 || errno != EAGAIN && errno != EINTR, let registration { loop.remove(registration) }
      return
    }
    for byte in bytes[..<count] {
      if byte == UInt8(ascii: "\n") {
        if Self.isLeftClick(line) { clicked() }
        line = []
      } else if line.count < Self.longestLine {
        line.append(byte)
      }
    }
  }

  /// Returns whether a line reports the left button: `1` alone, or an object with `"button":1`, as i3bar writes it.
  static func isLeftClick(_ line: [UInt8]) -> Bool {
    if line == [UInt8(ascii: "1")] { return true }
    let compact = String(decoding: line.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    return ["}", ","].contains { compact.contains(#""button":1"# + $0) }
  }
}
