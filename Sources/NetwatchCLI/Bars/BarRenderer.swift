import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Prints lines for a bar. A line that is equal to the previous one is not printed, unless the bar needs it twice.
final class BarRenderer: LineRenderer {
  private let format: BarFormat
  private var writer: BarLineWriter
  private var printed = LineBuffer()
  private var hasPrinted = false
  /// Whether the writer already has the line of the record that is printed next.
  private var isReady = false
  private var repetition: LoopTimer?
  private weak var loop: EventLoop?
  private var clicks: BarClicks?
  /// Whether a click opens the login page of the last record.
  private let opensPortal: Bool
  private var portal: PortalURL?
  private var fail: ((any Error) -> Void)?

  /// Creates a renderer that has printed nothing yet.
  ///
  /// - Parameter opensPortal: Whether a click opens a login page. Default: false.
  /// - Throws: A `PlainError` if the template is wrong for this bar.
  init(_ format: BarFormat, _ look: BarLook, opensPortal: Bool = false) throws(PlainError) {
    self.format = format
    self.opensPortal = opensPortal
    writer = try BarLineWriter(format, look)
  }

  func prepare(on loop: EventLoop) throws {
    self.loop = loop
    guard format.getsClicks || opensPortal && format.clickHeader != nil else { return }
    clicks = try BarClicks(on: loop) { [unowned self, unowned loop] in
      guard opensPortal, let portal else { return }
      PortalOpener.start(portal, on: loop)
    }
  }

  func onFailure(_ body: @escaping (any Error) -> Void) { fail = body }

  func shows(_ record: EventRecord) -> Bool {
    writer.write(record)
    isReady = true
    return !hasPrinted || !writer.line.equals(printed)
  }

  func print(_ record: EventRecord, to output: StandardOutput) throws(PlainError) {
    portal = record.portalURL
    if !isReady { writer.write(record) }
    isReady = false
    try printLine(to: output)
  }

  /// Clears the bar's text, because a bar must not show a state that is no longer updated.
  func printEnd(to output: StandardOutput) throws(PlainError) {
    writer.writeEnd()
    try printLine(to: output)
  }

  private func printLine(to output: StandardOutput) throws(PlainError) {
    if hasPrinted, writer.line.equals(printed) { return }
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
