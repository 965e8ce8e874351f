import Glibc
import Netwatch
import NetwatchEventLoop

/// A terminal that is drawn on as a whole, and whose keys are read one by one. The terminal is left as it was found: at the end,
/// on signals that end the program, and while the program is suspended.
final class TerminalScreen {
  /// What happens on the terminal, and what goes wrong there.
  struct Handlers {
    /// Draws everything anew.
    let draw: () -> Void
    /// Is given each key that is pressed.
    let key: (UInt8) -> Void
    /// Is given the signal that ends the program. The terminal is as it was by then.
    let end: (CInt) -> Void
    /// Is given what keeps the program from drawing.
    let fail: (any Error) -> Void
  }

  /// The other screen, which leaves the lines of the shell alone, without a cursor; and back.
  private static let enter = "\u{1b}[?1049h\u{1b}[?25l"
  private static let leave = "\u{1b}[?25h\u{1b}[?1049l"
  private static let jobSignals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
  private static let escape: UInt8 = 0x1b

  private let output: StandardOutput
  private let loop: EventLoop
  private let handlers: Handlers
  private var signals: SignalSource?
  private var keys: EventLoop.Registration?
  /// How the terminal was set.
  private var settings = termios()
  private var isOpen = false

  init(_ output: StandardOutput, on loop: EventLoop, _ handlers: Handlers) throws {
    self.output = output
    self.loop = loop
    self.handlers = handlers
    // Otherwise the terminal could be changed from the background, where it belongs to another program.
    signal(SIGTTOU, SIG_DFL)
    try Self.waitForForeground()
    // Whoever starts a program with a signal ignored wants it to stay so: without a shell, nobody would continue it.
    let numbers = Self.jobSignals.filter { !Self.isIgnored($0) }
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

  private static func isIgnored(_ number: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(number, nil, &action) == 0 else { return false }
    let handler = unsafe action.__sigaction_handler.sa_handler
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
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

  /// Gives the terminal back and stops, until somebody continues the program in the foreground.
  private func suspend() throws {
    try close()
    try stop { raise(SIGTSTP) }
    // What the user has set meanwhile is to stay.
    unsafe tcgetattr(STDOUT_FILENO, &settings)
    try open()
    handlers.draw()
  }

  /// Something has stopped the program without asking it, and perhaps another one has changed the terminal since.
  private func takeAgain() throws {
    guard isOpen else { return }
    try stop {}
    isOpen = false
    try open()
    handlers.draw()
  }

  /// Runs `body`, and returns in the foreground. Signals end the program meanwhile, as if it did not catch them.
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
    // Nobody controls programs by a terminal that is not theirs.
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

  /// Drops what follows ESC: an arrow or a function key is several bytes, of which some are letters.
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
    // A key is told at once, and is not shown. Ctrl-C and Ctrl-Z remain signals.
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe tcsetattr(STDOUT_FILENO, TCSADRAIN, &raw)
    try output.write(Self.enter)
  }

  /// Gives the terminal back.
  func close() throws(PlainError) {
    guard isOpen else { return }
    isOpen = false
    // From the background, where another program has set it, this would stop the program amid its end.
    if Self.isInForeground { unsafe tcsetattr(STDOUT_FILENO, TCSADRAIN, &settings) }
    try output.write(Self.leave)
  }

  /// Shows lines in the place of what was there. More than fit would scroll.
  func show(_ lines: [String]) throws(PlainError) {
    guard isOpen, let last = lines.last else { return }
    // Each line is cleared before it is written: behind one as wide as the terminal, the cursor is still on its last character.
    let others = lines.dropLast().map { "\u{1b}[K\($0)\r\n" }.joined()
    try output.write("\u{1b}[H\(others)\u{1b}[J\(last)")
  }
}
