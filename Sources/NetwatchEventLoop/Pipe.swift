import CLinux
import NetwatchLibC

/// The two ends of a pipe, one of them for a child. Children do not inherit them by default.
package final class Pipe {
  /// The descriptor of the end to read from; -1 when it is closed.
  package private(set) var read: CInt
  /// The descriptor of the end to write to; -1 when it is closed.
  package private(set) var write: CInt

  /// Creates a pipe. Throws a ``SystemError`` if the system has no descriptor left.
  package init() throws(SystemError) {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe2(&ends, CInt(O_CLOEXEC)) == 0 else { throw .last("pipe2") }
    // If the program has closed its standard streams, an end gets the number of one. It is moved, because the child's streams
    // get these numbers.
    for place in ends.indices where ends[place] <= STDERR_FILENO {
      let moved = fcntl(ends[place], F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
      if moved >= 0 { close(ends[place]) }
      ends[place] = moved >= 0 ? moved : ends[place]
    }
    (read, write) = (ends[0], ends[1])
  }

  /// Makes this end non-blocking. The writer still waits for room.
  package func readWithoutWaiting() throws(SystemError) {
    guard fcntl(read, F_SETFL, O_NONBLOCK) == 0 else { throw .last("fcntl") }
  }

  /// Returns the text that has been written, at most `limit` bytes. If the writer is gone, that is all of it.
  package func text(upTo limit: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = unsafe NetwatchLibC.read(read, &bytes, limit)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  deinit {
    closeRead()
    closeWrite()
  }

  /// Closes the end to read from.
  package func closeRead() {
    if read >= 0 { close(read) }
    read = -1
  }

  /// Closes the end to write to.
  package func closeWrite() {
    if write >= 0 { close(write) }
    write = -1
  }
}
