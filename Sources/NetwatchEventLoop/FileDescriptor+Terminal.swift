import Glibc

extension FileDescriptor {
  /// Returns the width of a terminal in columns. If the terminal does not report it, COLUMNS is used; nil if that is not set
  /// either.
  package static func columns(of terminal: CInt) -> Int? {
    var size = winsize()
    if unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
    return String(environment: "COLUMNS").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
  }

  /// Returns the number of lines of a terminal; nil if the terminal does not report it.
  package static func rows(of terminal: CInt) -> Int? {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return nil }
    return Int(size.ws_row)
  }
}
