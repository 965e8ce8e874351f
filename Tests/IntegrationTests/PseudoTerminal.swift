import Glibc
import NetwatchTestSupport
import Testing

/// A pseudo terminal with a program that leads its session. The test sees and types what a person would.
final class PseudoTerminal {
  /// The ioctl requests TIOCSPTLCK and TIOCGPTN. They are macros, which Swift does not see.
  private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

  let child: ChildProcess
  /// The settings of the terminal before the program ran.
  let settingsAtStart: termios
  private(set) var picture: TerminalPicture
  private var descriptor: CInt

  init(_ command: [String], rows: Int = 24, columns: Int = 80, type: String = "xterm") throws {
    descriptor = unsafe open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var (number, isLocked): (CUnsignedInt, CInt) = (0, 0)
    guard descriptor >= 0, unsafe ioctl(descriptor, Self.unlock, &isLocked) == 0,
      unsafe ioctl(descriptor, Self.getNumber, &number) == 0
    else { throw TestFailure("no pseudo terminal: \(errno)") }
    picture = TerminalPicture(rows: rows, columns: columns)
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = unsafe ioctl(descriptor, UInt(TIOCSWINSZ), &size)
    var settings = termios()
    unsafe tcgetattr(descriptor, &settings)
    settingsAtStart = settings
    child = try ChildProcess(
      command, standardOutput: .terminal("/dev/pts/\(number)"),
      environment: ["LC_ALL=C", "TERM=\(type)", "NO_COLOR=1", "PS1=ready$ ", "HISTFILE="])
  }

  deinit { hangUp() }

  /// Closes the terminal, as when a person closes its window.
  func hangUp() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  /// Whether the program receives each key at once, and the terminal does not echo it.
  var isRaw: Bool { settings.c_lflag & tcflag_t(ICANON | ECHO) == 0 }

  /// The settings of the terminal.
  var settings: termios {
    var settings = termios()
    unsafe tcgetattr(descriptor, &settings)
    return settings
  }

  /// Changes the settings of the terminal, as another program would.
  func set(_ settings: termios) {
    var settings = settings
    unsafe tcsetattr(descriptor, TCSANOW, &settings)
  }

  func type(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe write(descriptor, bytes.baseAddress, bytes.count) }
  }

  /// Changes the size of the terminal. The kernel sends SIGWINCH to the program.
  func resize(rows: Int, columns: Int) {
    picture.resize(rows: rows, columns: columns)
    setSize(rows: rows, columns: columns)
  }

  private func setSize(rows: Int, columns: Int) {
    var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = unsafe ioctl(descriptor, UInt(TIOCSWINSZ), &size)
  }

  /// Waits until the picture of the terminal fulfils a condition, and returns the picture. Fails after 20 seconds.
  @discardableResult
  func wait(until isWanted: (TerminalPicture) -> Bool) throws -> TerminalPicture {
    let deadline = Deadline(20)
    while !isWanted(picture) {
      guard try read(until: deadline) else { throw TestFailure("the terminal shows:\n\(picture.text)") }
    }
    return picture
  }

  /// Waits until a condition holds that the picture does not show. Fails after 20 seconds.
  func wait(untilHolds isWanted: () -> Bool) throws {
    let deadline = Deadline(20)
    while !isWanted() {
      guard !deadline.isOver else { throw TestFailure("the time is over; the terminal shows:\n\(picture.text)") }
      _ = try read(until: Deadline(0.01))
    }
  }

  /// Reads what programs still write to the terminal, until the last of them has ended.
  func readToEnd() throws {
    let deadline = Deadline(20)
    while try read(until: deadline) {
      guard !deadline.isOver else { throw TestFailure("a program still writes; the terminal shows:\n\(picture.text)") }
    }
  }

  /// Waits for output of the program, and adds it to the picture.
  ///
  /// - Returns: Whether something was read; false at the deadline or when the last program has ended.
  private func read(until deadline: Deadline) throws -> Bool {
    var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&waiting, 1, deadline.milliseconds) > 0 else { return false }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    picture.show(bytes.prefix(max(count, 0)))
    return count > 0
  }
}
