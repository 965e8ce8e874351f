import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Writes a file under another name, and renames it when it is complete, so that no reader finds a part of it.
enum NewFile {
  /// Writes `text` to the file at `path`, and replaces an existing file, or a link to one. The folder is opened once, so that
  /// everything happens in the same one, and no link in it is followed.
  ///
  /// - Throws: A `PlainError` if the file cannot be written. No part of it is left then.
  static func write(_ text: String, to path: String) throws(PlainError) {
    let start = path.utf8.lastIndex(of: UInt8(ascii: "/")).map(path.utf8.index(after:)) ?? path.startIndex
    let (folder, name) = (String(path[..<start]), String(path[start...]))
    let isWritten: Bool
    do throws(SystemError) {
      let folder = try FileDescriptor.folder(folder.isEmpty ? "." : folder)
      isWritten = try write([UInt8](text.utf8), to: name, in: folder)
    } catch {
      throw PlainError("\(error.isLackOfRoom ? "no room is left for" : "cannot write") '\(path)': \(error.message)")
    }
    guard isWritten else { throw PlainError("'\(path)' is not a file; name one, such as network.html") }
  }

  /// - Returns: False if the name belongs to something other than a file.
  private static func write(
    _ bytes: [UInt8], to name: String, in folder: borrowing FileDescriptor
  ) throws(SystemError) -> Bool {
    let folder = folder.rawValue
    var status = stat()
    let exists = unsafe fstatat(folder, name, &status, 0) == 0
    if name.isEmpty || exists && status.st_mode & S_IFMT != S_IFREG { return false }
    // The kernel allows names of 255 bytes, so that of the file may leave no room for more.
    let draft = ".netwatch-\(UInt32.random(in: 0...UInt32.max)).part"
    let file = try FileDescriptor.result(
      of: "open", unsafe openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600))
    do throws(SystemError) {
      try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: file.rawValue)
      guard fsync(file.rawValue) == 0 else { throw .last("fsync") }
      guard unsafe renameat(folder, draft, folder, name) == 0 else { throw .last("rename") }
    } catch {
      _ = unsafe unlinkat(folder, draft, 0)
      throw error
    }
    return true
  }
}
