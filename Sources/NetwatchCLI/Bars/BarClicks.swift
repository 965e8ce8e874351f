import Glibc
import NetwatchEventLoop

/// Reads the clicks that a bar writes to standard input.
///
/// They are read even if a click does nothing, because a bar blocks when its pipe is full. If standard input is not a pipe, it
/// is not read: the input of a terminal belongs to another program.
final class BarClicks {
  /// The most bytes that are kept of a line. No bar writes more about a click.
  private static let longestLine = 4_096

  private let loop: EventLoop
  private let clicked: () -> Void
  private var registration: EventLoop.Registration?
  private var line: [UInt8] = []

  /// Starts to read clicks. Nil if standard input is not a pipe.
  ///
  /// - Parameter clicked: The closure that is called for each click with the left button.
  init?(on loop: EventLoop, clicked: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    self.clicked = clicked
    var status = stat()
    guard unsafe fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return nil }
    registration = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self] _ in read() }
  }

  deinit { if let registration { loop.remove(registration) } }

  private func read() {
    var bytes = [UInt8](repeating: 0, count: Self.longestLine)
    let count = unsafe Glibc.read(STDIN_FILENO, &bytes, bytes.count)
    guard count > 0 else {
      // The end of the input only means that there are no more clicks.
      if count == 0 || errno != EAGAIN && errno != EINTR, let registration { loop.remove(registration) }
      return
    }
    for byte in bytes[..<count] {
      if byte == UInt8(ascii: "\n") {
        if Self.isLeftClick(line) { clicked() }
        line = []
      } else if line.count < Self.longestLine {
        line.append(byte)
      }
    }
  }

  /// Returns whether a line reports the left button: `1` alone, or an object with `"button":1`, as i3bar writes it.
  static func isLeftClick(_ line: [UInt8]) -> Bool {
    if line == [UInt8(ascii: "1")] { return true }
    let compact = String(decoding: line.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    return ["}", ","].contains { compact.contains(#""button":1"# + $0) }
  }
}
