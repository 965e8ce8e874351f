import Glibc
import Netwatch
import NetwatchEventLoop

/// A terminal that is drawn on as a whole, and whose keys are read one by one. It is left as it was found: at the end, on
/// signals that end the program, and while the program is suspended.
final class TerminalScreen {
  /// The other screen, which leaves the lines of the shell alone, without a cursor; and back.
  private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
  private static let leave = "\u{1b}[?25h\u{1b}[?1049l"
  private static let endingSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  private let output: StandardOutput
  private let loop: EventLoop
  private let draw: () -> Void
  private var signals: SignalSource?
  private var keys: EventLoop.Registration?
  /// How the keyboard was set; nil if standard input is no terminal.
  private var settings: termios?
  private var isOpen = false

  /// - Parameters:
  ///   - draw: draws everything anew.
  ///   - key: is given each key that is pressed.
  ///   - end: is given the signal that ends the program; the terminal is as it was by then.
  init(
    _ output: StandardOutput, on loop: EventLoop, draw: @escaping () -> Void, key: @escaping (UInt8) -> Void,
    end: @escaping (CInt) -> Void
  ) throws {
    self.output = output
    self.loop = loop
    self.draw = draw
    signals = try SignalSource(Self.endingSignals + [SIGTSTP, SIGWINCH], on: loop) { [unowned self] delivery in
      switch delivery.number {
      case SIGWINCH: draw()
      case SIGTSTP: try? suspend()
      default:
        try? close()
        end(delivery.number)
      }
    }
    var settings = termios()
    if unsafe tcgetattr(STDIN_FILENO, &settings) == 0 {
      self.settings = settings
      keys = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in read(key) }
    }
    try open()
  }

  deinit {
    if let keys { loop.remove(keys) }
    try? close()
  }

  private func read(_ key: (UInt8) -> Void) {
    var byte: UInt8 = 0
    if unsafe Glibc.read(STDIN_FILENO, &byte, 1) == 1 { return key(byte) }
    if let keys { loop.remove(keys) }
    keys = nil
  }

  private func open() throws(PlainError) {
    guard !isOpen else { return }
    isOpen = true
    if var settings {
      // A key is told at once, and is not shown. Ctrl-C and Ctrl-Z remain signals.
      settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
      unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &settings)
    }
    try output.write(Self.enter)
  }

  /// Gives the terminal back.
  func close() throws(PlainError) {
    guard isOpen else { return }
    isOpen = false
    if var settings { unsafe tcsetattr(STDIN_FILENO, TCSADRAIN, &settings) }
    try output.write(Self.leave)
  }

  private func suspend() throws(PlainError) {
    try close()
    kill(getpid(), SIGSTOP)
    try open()
    draw()
  }

  /// Shows lines in the place of what was there. More than fit would scroll.
  func show(_ lines: [String]) throws(PlainError) {
    guard isOpen else { return }
    try output.write("\u{1b}[H" + lines.joined(separator: "\u{1b}[K\r\n") + "\u{1b}[K\u{1b}[J")
  }
}
