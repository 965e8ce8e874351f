import CLinux
import Glibc
import NetwatchEventLoop

/// What a child has written, read when it has ended: then all is there, and nobody waits.
final class ChildOutput {
  private let descriptor: FileDescriptor

  private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// - Parameter start: starts the child; it is given where the child has to write to.
  static func of(
    _ start: (CInt) throws(SystemError) -> pid_t
  ) throws(SystemError) -> (process: pid_t, output: ChildOutput) {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe2(&ends, CInt(O_CLOEXEC | O_NONBLOCK)) == 0 else { throw .last("pipe2") }
    let output = ChildOutput(FileDescriptor(owning: ends[0]))
    let writeEnd = FileDescriptor(owning: ends[1])
    return (try start(writeEnd.rawValue), output)
  }

  /// No more than `limit` bytes of it.
  func text(upTo limit: Int) -> String {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = unsafe read(descriptor.rawValue, &bytes, limit)
    return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
  }
}
