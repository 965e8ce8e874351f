import FoundationEssentials
import Glibc
import Netwatch

/// The bytes of a download that is not whole yet, and what is known of them: `NAME.netwatch-part` and
/// `NAME.netwatch-part.json`. While a download begins again, its bytes go into `NAME.netwatch-part.new`, and what was kept
/// stays as it is.
///
/// Nobody else has it open for a download: neither another task nor another process.
final class PartialFile: Sendable {
  /// More than ``ResumeData`` can need.
  private static let mostData: Int64 = 256 * 1_024
  /// What comes behind the name of the target, and is the longest.
  private static let longestSuffix = ".netwatch-part.json.new"

  let target: URL
  private let replacesExisting: Bool
  private let isFlushed: Bool
  private let path: String
  /// What an earlier download has left, or this one's only file; and the new one, if the download has begun again.
  private let files: Lock<(kept: OpenFile, fresh: OpenFile?)>
  private var dataPath: String { path + ".json" }
  private var freshPath: String { path + ".new" }

  /// - Parameter isFlushed: whether the whole file is written to its disk before it gets its name.
  static func open(for target: URL, replacesExisting: Bool, isFlushed: Bool = false) throws(HTTPError) -> PartialFile {
    let name = try OpenFile.path(of: target, replacesExisting: replacesExisting)
    let base = OpenFile.companion(of: name, suffix: longestSuffix)
    return try PartialFile(target, replacesExisting, isFlushed, path: base + ".netwatch-part")
  }

  private init(_ target: URL, _ replacesExisting: Bool, _ isFlushed: Bool, path: String) throws(HTTPError) {
    self.target = target
    self.replacesExisting = replacesExisting
    self.isFlushed = isFlushed
    self.path = path
    files = Lock((kept: try OpenFile.openLocked(path), fresh: nil))
  }

  // MARK: What is known

  /// Nil where nothing was written down, nothing that can be, or somebody else may have written it.
  func load() -> ResumeData? {
    guard let file = OpenFile.openTrusted(dataPath), let size = file.size(), size <= Self.mostData else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(file.number, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { return nil }
    return try? JSONDecoder().decode(ResumeData.self, from: Data(bytes))
  }

  /// All of it or nothing, whenever the process ends.
  func record(_ data: ResumeData) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let text = try? encoder.encode(data) else { throw HTTPError(.other, "encode resume data") }
    let name = dataPath + ".new"
    // A URL can be as secret as a password.
    let file = try OpenFile.createTrusted(name, rights: 0o600)
    let count = unsafe text.withUnsafeBytes { unsafe Glibc.write(file.number, $0.baseAddress, $0.count) }
    guard count == text.count, unsafe rename(name, dataPath) == 0 else {
      let failure = HTTPError(file: name, "write")
      _ = unsafe unlink(name)
      throw failure
    }
  }

  func forget() throws(HTTPError) {
    guard unsafe unlink(dataPath) == 0 || errno == ENOENT else { throw HTTPError(file: dataPath, "remove") }
  }

  // MARK: The bytes

  private var current: OpenFile { files.withLock { $0.fresh ?? $0.kept } }

  func size() -> Int64 { current.size() ?? 0 }

  /// Where that fails, the file is gone: its old bytes must never be taken for those of a new one.
  func empty() throws(HTTPError) {
    do throws(HTTPError) {
      try cut(to: 0)
    } catch {
      discard()
      throw error
    }
  }

  /// Takes the bytes back that came behind an offset.
  func cut(to offset: Int64) throws(HTTPError) {
    guard ftruncate(current.number, off_t(offset)) == 0 else { throw HTTPError(file: path, "truncate") }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(HTTPError) {
    try unsafe current.write(bytes, at: offset, named: path)
  }

  // MARK: Beginning again

  /// From here on bytes go into a new file.
  func beginFresh() throws(HTTPError) {
    let file = try OpenFile.createTrusted(freshPath, rights: OpenFile.rights)
    // Its turn to be the one that is locked may come.
    _ = flock(file.number, LOCK_EX | LOCK_NB)
    files.withLock { $0.fresh = file }
  }

  /// The new file takes the place of the old one. Whenever the process ends, the data do not stand beside other bytes.
  func promoteFresh(_ data: ResumeData) throws(HTTPError) {
    try forget()
    guard unsafe rename(freshPath, path) == 0 else { throw HTTPError(file: freshPath, "rename") }
    files.withLock { files in
      if let fresh = files.fresh { files = (fresh, nil) }
    }
    try record(data)
  }

  /// The old file is what there is.
  func dropFresh() {
    guard files.withLock({ $0.fresh != nil }) else { return }
    _ = unsafe unlink(freshPath)
    files.withLock { $0.fresh = nil }
  }

  // MARK: Ends

  /// Puts what is whole into its place.
  func install() throws(HTTPError) {
    let isFresh = files.withLock { $0.fresh != nil }
    let (file, own) = (current, isFresh ? freshPath : path)
    guard file.isNamed(own) else {
      throw HTTPError(.fileFailed, "rename \(own)", message: "another file has come into its place")
    }
    file.takeRights(of: dataPath + ".new")
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: own, "fsync") }
    try OpenFile.place(own, at: target.path(percentEncoded: false), replacesExisting: replacesExisting)
    _ = unsafe unlink(dataPath)
    if isFresh { _ = unsafe unlink(path) }
  }

  /// Another download may have it from here on.
  func release() {
    let files = files.withLock { $0 }
    for file in [files.kept, files.fresh] { if let file { flock(file.number, LOCK_UN) } }
  }

  func discard() {
    dropFresh()
    // In this order: without its bytes, the data would be of no harm, but of no use either.
    _ = unsafe unlink(dataPath)
    _ = unsafe unlink(path)
  }
}
