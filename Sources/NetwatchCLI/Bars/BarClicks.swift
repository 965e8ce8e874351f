import Glibc
import NetwatchEventLoop

/// Reads what a bar writes to standard input when it is clicked. It is read in any case: a bar whose pipe is full would wait for us.
///
/// Nothing is read where standard input is no pipe: a terminal's belongs to somebody else.
final class BarClicks {
  /// More than any bar says of a click, in bytes.
  private static let longestLine = 4_096

  private let loop: EventLoop
  private let clicked: () -> Void
  private var registration: EventLoop.Registration?
  private var line: [UInt8] = []

  /// - Parameter clicked: called for each click with the left button.
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
      // Its end is nothing to us.
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

  /// Whether a line tells of the left button: `1` alone, or an object with `"button":1`, as i3bar has it.
  static func isLeftClick(_ line: [UInt8]) -> Bool {
    if line == [UInt8(ascii: "1")] { return true }
    let compact = String(decoding: line.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    return ["}", ","].contains { compact.contains(#""button":1"# + $0) }
  }
}
