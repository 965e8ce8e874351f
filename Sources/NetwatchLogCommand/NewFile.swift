import Glibc
import Netwatch
import NetwatchEventLoop

/// Writes a file under another name, and renames it when it is complete, so that no reader finds a part of it.
enum NewFile {
  /// Writes `text` to the file at `path`, and replaces an existing file.
  ///
  /// - Throws: A `PlainError` if the file cannot be written. No part of it is left then.
  static func write(_ text: String, to path: String) throws(PlainError) {
    var status = stat()
    if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw PlainError("'\(path)' is not a file; name one, such as network.html")
    }
    let draft = "\(path).\(UInt32.random(in: 0...UInt32.max)).part"
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(path) }
    do throws(SystemError) {
      let file = FileDescriptor(owning: descriptor)
      let bytes = [UInt8](text.utf8)
      try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: file.rawValue)
      guard fsync(file.rawValue) == 0 else { throw .last("fsync") }
    } catch {
      _ = unsafe unlink(draft)
      throw PlainError("cannot write '\(path)': \(error.message)")
    }
    guard unsafe rename(draft, path) != 0 else { return }
    let error = failure(path)
    _ = unsafe unlink(draft)
    throw error
  }

  private static func failure(_ path: String) -> PlainError {
    PlainError(unsafe "cannot write '\(path)': \(String(cString: strerror(errno)))")
  }
}
