import Glibc
import NetwatchEventLoop

/// Reads what a bar says of clicks, and forgets it: a bar whose pipe is full would wait for us.
final class ClickDrain {
  private var registration: EventLoop.Registration?

  /// Nothing where standard input is no pipe: a terminal's belongs to somebody else.
  init(on loop: EventLoop) throws(SystemError) {
    var status = stat()
    guard unsafe fstat(STDIN_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
    registration = try loop.watch(STDIN_FILENO, for: .readable) { [unowned self, unowned loop] _ in
      var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
      let count = unsafe read(STDIN_FILENO, &bytes, MemoryLayout.size(ofValue: bytes))
      // Its end is nothing to us.
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR, let registration { loop.remove(registration) }
    }
  }
}
