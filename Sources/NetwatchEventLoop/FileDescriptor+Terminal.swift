import Glibc

extension FileDescriptor {
  /// How wide a terminal is. COLUMNS counts where it does not say; nil where that says nothing either.
  package static func columns(of terminal: CInt) -> Int? {
    var size = winsize()
    if unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return String(environment: "COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// How many lines a terminal has; nil where it does not say.
  package static func rows(of terminal: CInt) -> Int? {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }
}
