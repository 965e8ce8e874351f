import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Standard output as a stream of lines. Each line is one write(2).
final class StandardOutput {
  /// Whether nobody reads any more. This is not an error: `| head -1` has what it wanted.
  private(set) var isReaderGone = false
  private let descriptor = STDOUT_FILENO
  private var registration: EventLoop.Registration?

  /// Checks that standard output is open. Otherwise the next file that is opened would get its number and receive the lines.
  ///
  /// - Throws: A `PlainError` if standard output is closed.
  init() throws(PlainError) {
    guard fcntl(descriptor, F_GETFD) >= 0 else {
      throw PlainError("standard output is closed; redirect it to a file, a pipe or /dev/null")
    }
    // When the reader has ended, writing fails with EPIPE.
    SignalSource.discard([SIGPIPE])
  }

  /// Calls `body` when the reader goes, even if nothing is written for hours.
  func whenReaderGoes(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    do throws(SystemError) {
      registration = try loop.watch(descriptor, for: []) { [self, unowned loop] _ in
        // One report is enough, and the loop may still have to wait for a hook.
        if let registration { loop.remove(registration) }
        isReaderGone = true
        body()
      }
    } catch {
      // A file or /dev/null has no reader to lose.
      guard error.code == EPERM else { throw error }
    }
  }

  func write(_ text: String) throws(PlainError) {
    let bytes = [UInt8](text.utf8)
    try unsafe write(bytes.span.bytes)
  }

  func write(_ line: RawSpan) throws(PlainError) {
    guard !isReaderGone else { return }
    do throws(SystemError) {
      try FileDescriptor.writeAll(line, to: descriptor)
    } catch {
      guard error.code == EPIPE else { throw PlainError("cannot write to standard output: \(error.message)") }
      isReaderGone = true
    }
  }
}
