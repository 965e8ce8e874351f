import FoundationEssentials
import Glibc

/// A file that is written beside its place, and put there when it is whole. Released before, it leaves nothing.
final class NewFile {
  let target: URL
  private let replacesExisting: Bool
  private let path: String
  private let file: OpenFile
  private var length: Int64 = 0
  private var isPlaced = false

  /// - Throws: `fileFailed` if there is a file that is not to be replaced, or none can be made there.
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

  /// - Parameter isFlushed: whether the file is written to its disk before it gets its name.
  func place(isFlushed: Bool = false) throws(HTTPError) {
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: path, "fsync") }
    try OpenFile.place(path, at: target.path(percentEncoded: false), replacesExisting: replacesExisting)
    isPlaced = true
  }
}
