import Glibc
import NetwatchEventLoop

/// The last line of the terminal on standard error, drawn again and again.
final class ProgressDisplay {
  /// Ten times a second is as much as anybody reads.
  static let interval = Duration.milliseconds(100)

  /// Whether there is somebody to tell that all went well.
  let hasReader: Bool
  private let canDraw: Bool
  private var isDrawn = false

  /// - Parameters:
  ///   - isQuiet: whether only failures are told.
  ///   - sharesTerminal: whether the bytes go to a terminal themselves.
  init(isQuiet: Bool, sharesTerminal: Bool) {
    hasReader = isatty(STDERR_FILENO) == 1 && !isQuiet && !sharesTerminal
    let terminal = String(environment: "TERM") ?? ""
    canDraw = hasReader && terminal != "dumb" && !terminal.isEmpty
  }

  func draw(_ line: ProgressLine) {
    guard canDraw, Self.isInForeground else { return }
    isDrawn = true
    // It may have changed since the last time.
    let columns = FileDescriptor.columns(of: STDERR_FILENO) ?? 80
    StandardError.write("\r\(line.text(columns: columns))\u{1b}[K")
  }

  /// Takes the line away, so that something else can stand there.
  func clear() {
    if isDrawn { StandardError.write("\r\u{1b}[K") }
    isDrawn = false
  }

  /// A job in the background does not write over what is typed in the foreground.
  private static var isInForeground: Bool {
    let group = tcgetpgrp(STDERR_FILENO)
    return group < 0 || group == getpgrp()
  }
}
