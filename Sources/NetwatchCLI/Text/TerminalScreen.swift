import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// A terminal whose whole screen is drawn, and whose keys are read one by one. The terminal is restored at the end, on signals
/// that end the program, and while the program is suspended.
final class TerminalScreen {
  /// The closures for events and errors of the terminal.
  struct Handlers {
    /// Draws everything again.
    let draw: () -> Void
    /// Gets each key that is pressed.
    let key: (UInt8) -> Void
    /// Gets the signal that ends the program. The terminal is already restored.
    let end: (CInt) -> Void
    /// Gets the error that keeps the program from drawing.
    let fail: (any Error) -> Void
  }

  /// The escape sequences that switch to the alternate screen, which keeps the lines of the shell, and hide the cursor. `leave`
  /// undoes both.
  private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
  private static let leave = "\u{1b}[?25h\u{1b}[?1049l"
  private static let jobSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
  private static let escape: UInt8 = 0x1b

  private let output: StandardOutput
  private let loop: EventLoop
  private let handlers: Handlers
  private var signals: SignalSource?
  private var keys: EventLoop.Registration?
  /// The settings of the terminal before they were changed.
  private var settings = termios()
  private var isOpen = false

  init(_ output: StandardOutput, on loop: EventLoop, _ handlers: Handlers) throws {
    self.output = output
    self.loop = loop
    self.handlers = handlers
    // Otherwise the terminal could be changed from the background, where it belongs to another program.
    signal(SIGTTOU, SIG_DFL)
    try Self.waitForForeground()
    // A signal that was ignored at the start stays ignored: without a shell, nobody would continue a stopped program.
    let numbers = Self.jobSignals.filter { !SignalSource.isIgnored($0) }
    signals = try SignalSource(numbers + [SIGWINCH, SIGCONT], on: loop) { [unowned self] in handle($0.number) }
    if isatty(STDIN_FILENO) == 1 {
      keys = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in readKeys() }
    }
    unsafe tcgetattr(STDOUT_FILENO, &settings)
    try open()
  }

  deinit {
    if let keys { loop.remove(keys) }
    try? close()
  }

  // MARK: Signals

  private func handle(_ signal: CInt) {
    do {
      switch signal {
      case SIGWINCH: handlers.draw()
      case SIGTSTP: try suspend()
      case SIGCONT: try takeAgain()
      default:
        try? close()
        handlers.end(signal)
      }
    } catch {
      handlers.fail(error)
    }
  }

  /// Restores the terminal and stops until somebody continues the program in the foreground.
  private func suspend() throws {
    try close()
    try stop { raise(SIGTSTP) }
    // Settings that the user has changed meanwhile have to stay.
    unsafe tcgetattr(STDOUT_FILENO, &settings)
    try open()
    handlers.draw()
  }

  /// Opens the screen again after a stop that the program could not catch. Another program may have changed the terminal
  /// meanwhile.
  private func takeAgain() throws {
    guard isOpen else { return }
    try stop {}
    isOpen = false
    try open()
    handlers.draw()
  }

  /// Runs `body`, then waits until the program is in the foreground. Meanwhile signals end the program, as if it did not catch
  /// them.
  private func stop(_ body: () -> Void) throws {
    var failure: (any Error)?
    signals?.pause {
      body()
      do { try Self.waitForForeground() } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// Returns when the terminal belongs to this program. Until then the kernel stops the program.
  private static func waitForForeground() throws(PlainError) {
    var current = termios()
    guard unsafe tcgetattr(STDOUT_FILENO, &current) == 0, unsafe tcsetattr(STDOUT_FILENO, TCSADRAIN, &current) != 0,
      errno == EIO
    else { return }
    // There is no shell that could bring it to the foreground.
    throw PlainError("cannot draw on a terminal from the background; start top in the foreground, or give --json.")
  }

  private static var isInForeground: Bool {
    let group = tcgetpgrp(STDOUT_FILENO)
    // If the terminal does not control this process, there is no foreground.
    return group < 0 || group == getpgrp()
  }

  // MARK: Keys

  private func readKeys() {
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = unsafe read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else {
      if let keys { loop.remove(keys) }
      keys = nil
      return
    }
    var rest = bytes.prefix(count)
    while let byte = rest.popFirst() {
      if byte == Self.escape { Self.dropSequence(&rest) } else { handlers.key(byte) }
    }
  }

  /// Drops the bytes after ESC. An arrow or a function key sends several bytes, of which some are letters.
  private static func dropSequence(_ rest: inout ArraySlice<UInt8>) {
    let first = rest.popFirst()
    guard first == UInt8(ascii: "[") || first == UInt8(ascii: "O") else { return }
    while let byte = rest.popFirst(), !(0x40...0x7e ~= byte) {}
  }

  // MARK: Screen

  private func open() throws(PlainError) {
    guard !isOpen else { return }
    isOpen = true
    var raw = settings
    // Keys arrive at once and are not shown. Ctrl-C and Ctrl-Z still send signals.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe tcsetattr(STDOUT_FILENO, TCSADRAIN, &raw)
    try output.write(Self.enter)
  }

  /// Restores the terminal.
  func close() throws(PlainError) {
    guard isOpen else { return }
    isOpen = false
    // In the background, another program has set the terminal, and this call would stop the program while it ends.
    if Self.isInForeground { unsafe tcsetattr(STDOUT_FILENO, TCSADRAIN, &settings) }
    try output.write(Self.leave)
  }

  /// Replaces what the screen shows with lines. More lines than the terminal has would scroll it.
  func show(_ lines: [String]) throws(PlainError) {
    guard isOpen, let last = lines.last else { return }
    // Each line is cleared before it is written: after one as wide as the terminal, the cursor is still on its last character.
    let others = lines.dropLast().map { "\u{1b}[K\($0)\r\n" }.joined()
    try output.write("\u{1b}[H\(others)\u{1b}[J\(last)")
  }
}
