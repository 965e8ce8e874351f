import NetwatchEventLoop
import NetwatchLibC

/// The progress in the last line of the terminal on standard error, which is redrawn.
final class ProgressDisplay {
  /// The time between two drawings. Ten times a second is as much as anybody reads.
  static let interval = Duration.milliseconds(100)

  /// Whether somebody reads that the download has succeeded.
  let hasReader: Bool
  private let canDraw: Bool
  private var isDrawn = false

  /// - Parameters:
  ///   - isQuiet: Whether only failures are reported.
  ///   - sharesTerminal: Whether the downloaded bytes go to the terminal.
  init(isQuiet: Bool, sharesTerminal: Bool) {
    hasReader = isatty(STDERR_FILENO) == 1 && !isQuiet && !sharesTerminal
    let terminal = String(environment: "TERM") ?? ""
    canDraw = hasReader && terminal != "dumb" && !terminal.isEmpty
  }

  func draw(_ line: ProgressLine) {
    guard canDraw, Self.isInForeground else { return }
    isDrawn = true
    // The width may have changed since the last drawing.
    let columns = FileDescriptor.columns(of: STDERR_FILENO) ?? 80
    StandardError.write("\r\(line.text(columns: columns))\u{1b}[K")
  }

  /// Removes the line, so that other text can take its place.
  func clear() {
    if isDrawn { StandardError.write("\r\u{1b}[K") }
    isDrawn = false
  }

  /// Whether this process is in the foreground. A job in the background must not write over the user's input.
  private static var isInForeground: Bool {
    let group = tcgetpgrp(STDERR_FILENO)
    return group < 0 || group == getpgrp()
  }
}
