import FoundationEssentials
import Glibc

/// A file that is written beside its destination, and moved there when it is complete. If it is released earlier, it is
/// removed.
final class NewFile {
  let target: URL
  private let replacesExisting: Bool
  private let path: String
  private let file: OpenFile
  private var length: Int64 = 0
  private var isPlaced = false

  /// - Throws: `fileFailed` if there is a file that must not be replaced, or if no file can be created there.
  init(for target: URL, replacesExisting: Bool) throws(HTTPError) {
    let name = try OpenFile.path(of: target, replacesExisting: replacesExisting)
    let suffix = ".\(UInt32.random(in: 0...UInt32.max)).part"
    path = OpenFile.companion(of: name, suffix: suffix) + suffix
    file = try OpenFile(creating: path)
    self.target = target
    self.replacesExisting = replacesExisting
  }

  deinit {
    if !isPlaced { _ = unsafe unlink(path) }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    try unsafe file.write(bytes, at: length, named: path)
    length += Int64(bytes.count)
  }

  /// - Parameter isFlushed: Whether the file is flushed to its disk before it gets its name. Default: false.
  func place(isFlushed: Bool = false) throws(HTTPError) {
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: path, "fsync") }
    try OpenFile.place(path, at: target.path(percentEncoded: false), replacesExisting: replacesExisting)
    isPlaced = true
  }
}
