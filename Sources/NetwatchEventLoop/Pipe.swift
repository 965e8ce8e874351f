import CLinux
import Glibc

/// The two ends of a pipe, for a child to have one of them. No child inherits them unasked.
package final class Pipe {
  package private(set) var read: CInt
  package private(set) var write: CInt

  package init() throws(SystemError) {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe2(&ends, CInt(O_CLOEXEC)) == 0 else { throw .last("pipe2") }
    // Where the program has closed its standard streams, an end has the number of one, in whose place the child's is put.
    for place in ends.indices where ends[place] <= STDERR_FILENO {
      let moved = fcntl(ends[place], F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
      if moved >= 0 { close(ends[place]) }
      ends[place] = moved >= 0 ? moved : ends[place]
    }
    (read, write) = (ends[0], ends[1])
  }

  /// Ours alone: the writer still waits for room.
  package func readWithoutWaiting() throws(SystemError) {
    guard fcntl(read, F_SETFL, O_NONBLOCK) == 0 else { throw .last("fcntl") }
  }

  /// What has been written, at most `limit` bytes of it. Where nobody writes any more, that is all of it.
  package func text(upTo limit: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = unsafe Glibc.read(read, &bytes, limit)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }

  deinit {
    closeRead()
    closeWrite()
  }

  package func closeRead() {
    if read >= 0 { close(read) }
    read = -1
  }

  package func closeWrite() {
    if write >= 0 { close(write) }
    write = -1
  }
}
