import Glibc

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
    let terminal = environment("TERM") ?? ""
    canDraw = hasReader && terminal != "dumb" && !terminal.isEmpty
  }

  func draw(_ line: ProgressLine) {
    guard canDraw, Self.isInForeground else { return }
    isDrawn = true
    Message.write("\r\(line.text(columns: Self.columns))\u{1b}[K")
  }

  /// Takes the line away, so that something else can stand there.
  func clear() {
    if isDrawn { Message.write("\r\u{1b}[K") }
    isDrawn = false
  }

  /// A job in the background does not write over what is typed in the foreground.
  private static var isInForeground: Bool {
    let group = tcgetpgrp(STDERR_FILENO)
    return group < 0 || group == getpgrp()
  }

  /// It may have changed since the last time.
  private static var columns: Int {
    var size = winsize()
    if unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return environment("COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 80
  }
}

private func environment(_ name: String) -> String? {
  unsafe getenv(name).map { unsafe String(cString: $0) }
}
