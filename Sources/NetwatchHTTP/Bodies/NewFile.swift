import FoundationEssentials
import Glibc

/// A file that is written beside its destination, and moved there when it is complete. If it is released earlier, it is
/// removed.
final class NewFile {
  let target: URL
  private let replacesExisting: Bool
  private let name: FileName
  private let draft: FileName
  private let file: OpenFile
  private var length: Int64 = 0
  private var isPlaced = false

  /// - Throws: `fileFailed` if there is a file that must not be replaced, or if no file can be created there.
  init(for target: URL, replacesExisting: Bool) throws(HTTPError) {
    name = try OpenFile.name(of: target, replacesExisting: replacesExisting)
    draft = name.companion(".\(UInt32.random(in: 0...UInt32.max)).part")
    file = try OpenFile(creating: draft)
    self.target = target
    self.replacesExisting = replacesExisting
  }

  deinit {
    if !isPlaced { draft.remove() }
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
    try unsafe file.write(bytes, at: length, named: draft.path)
    length += Int64(bytes.count)
  }

  /// - Parameter isFlushed: Whether the file is flushed to its disk before it gets its name. Default: false.
  func place(isFlushed: Bool = false) throws(HTTPError) {
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: draft.path, "fsync") }
    try draft.place(at: name, replacesExisting: replacesExisting)
    isPlaced = true
  }
}
