import Glibc
import Netwatch
import NetwatchEventLoop

/// Standard output as a stream of lines, each one write(2).
final class StandardOutput {
  /// Nobody reads any more. Not an error: `| head -1` has got what it wanted.
  private(set) var isReaderGone = false
  private let descriptor = STDOUT_FILENO
  private var registration: EventLoop.Registration?

  /// A closed descriptor would become the number of the next one that is opened, and lines would go astray.
  init() throws(PlainError) {
    guard fcntl(descriptor, F_GETFD) >= 0 else {
      throw PlainError("standard output is closed; redirect it to a file, a pipe or /dev/null")
    }
    // A reader's end shows as EPIPE. Waybar's children get SIGPIPE ignored anyway.
    signal(SIGPIPE, SIG_IGN)
  }

  /// Calls `body` when the reader goes, even if nothing is written for hours.
  func whenReaderGoes(on loop: EventLoop, _ body: @escaping () -> Void) throws(SystemError) {
    do throws(SystemError) {
      registration = try loop.watch(descriptor, for: []) { [self, unowned loop] _ in
        // It stays so: once is enough, and the loop may have a hook to wait for.
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
