import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchLibC

/// The bytes of an incomplete download, and the facts about them: `NAME.netwatch-part` and `NAME.netwatch-part.json`. While a
/// download begins again, its bytes go into `NAME.netwatch-part.new`, and the old file stays unchanged.
///
/// The file is locked: no other task and no other process uses it for a download.
final class PartialFile: Sendable {
  /// The most bytes of the resume data, more than ``ResumeData`` can need.
  private static let mostData: Int64 = 256 * 1_024
  /// The longest suffix that is added to the name of the target.
  private static let longestSuffix = ".netwatch-part.json.new"

  let target: URL
  private let replacesExisting: Bool
  private let isFlushed: Bool
  private let name: FileName
  private let part: FileName
  /// The file of an earlier download, or the only file of this one; and the new file if the download has begun again.
  private let files: Lock<(kept: OpenFile, fresh: OpenFile?)>
  private var dataName: FileName { part.adding(".json") }
  private var freshName: FileName { part.adding(".new") }

  /// - Parameter isFlushed: Whether the complete file is flushed to its disk before it gets its name.
  static func open(for target: URL, replacesExisting: Bool, isFlushed: Bool = false) throws(HTTPError) -> PartialFile {
    let name = try OpenFile.name(of: target, replacesExisting: replacesExisting)
    return try PartialFile(target, name, replacesExisting, isFlushed)
  }

  private init(
    _ target: URL, _ name: FileName, _ replacesExisting: Bool, _ isFlushed: Bool
  ) throws(HTTPError) {
    self.target = target
    self.replacesExisting = replacesExisting
    self.isFlushed = isFlushed
    self.name = name
    part = name.companion(OpenFile.partSuffix, longest: Self.longestSuffix)
    files = Lock((kept: try OpenFile.openLocked(part), fresh: nil))
  }

  // MARK: What is known

  /// Returns the resume data. Nil if there is none, if it is not valid, or if somebody else may have written it.
  func load() -> ResumeData? {
    guard let file = OpenFile.openTrusted(dataName), let size = file.size(), size <= Self.mostData else {
      return nil
    }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(file.number, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { return nil }
    return try? JSONDecoder().decode(ResumeData.self, from: Data(bytes))
  }

  /// Writes the resume data: all of it or nothing, whenever the process ends.
  func record(_ data: ResumeData) throws(HTTPError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let text = try? encoder.encode(data) else { throw HTTPError(.other, "encode resume data") }
    let name = dataName.adding(".new")
    // A URL can be as secret as a password.
    let file = try OpenFile.createTrusted(name, rights: 0o600)
    do throws(HTTPError) {
      try file.write([UInt8](text), at: 0, named: name.path)
      guard name.rename(to: dataName) else { throw HTTPError(file: name.path, "rename") }
    } catch {
      name.remove()
      throw error
    }
  }

  func forget() throws(HTTPError) {
    guard dataName.remove() || errno == ENOENT else { throw HTTPError(file: dataName.path, "remove") }
  }

  // MARK: The bytes

  private var current: OpenFile { files.withLock { $0.fresh ?? $0.kept } }

  func size() -> Int64 { current.size() ?? 0 }

  /// Removes all bytes. If that fails, the file is removed, because its old bytes must never be mistaken for those of a new
  /// one.
  func empty() throws(HTTPError) {
    do throws(HTTPError) {
      try cut(to: 0)
    } catch {
      discard()
      throw error
    }
  }

  /// Removes the bytes after an offset.
  func cut(to offset: Int64) throws(HTTPError) {
    guard ftruncate(current.number, off_t(offset)) == 0 else { throw HTTPError(file: part.path, "truncate") }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(HTTPError) {
    try unsafe current.write(bytes, at: offset, named: part.path)
  }

  // MARK: Beginning again

  /// Makes a new file, which gets all bytes from now on.
  func beginFresh() throws(HTTPError) {
    let file = try OpenFile.createTrusted(freshName, rights: OpenFile.rights)
    // It may later take the place of the locked file.
    _ = flock(file.number, LOCK_EX | LOCK_NB)
    files.withLock { $0.fresh = file }
  }

  /// Puts the new file in the place of the old one. Whenever the process ends, the resume data is never beside the wrong bytes.
  func promoteFresh(_ data: ResumeData) throws(HTTPError) {
    try forget()
    guard freshName.rename(to: part) else { throw HTTPError(file: freshName.path, "rename") }
    files.withLock { files in
      if let fresh = files.fresh { files = (fresh, nil) }
    }
    try record(data)
  }

  /// Removes the new file, and keeps the old one.
  func dropFresh() {
    guard files.withLock({ $0.fresh != nil }) else { return }
    freshName.remove()
    files.withLock { $0.fresh = nil }
  }

  // MARK: Ends

  /// Puts the complete file in its place.
  func install() throws(HTTPError) {
    let isFresh = files.withLock { $0.fresh != nil }
    let (file, own) = (current, isFresh ? freshName : part)
    guard own.belongs(to: file) else {
      throw HTTPError(.fileFailed, "rename \(own.path)", message: "another file has come into its place")
    }
    file.takeRights(of: dataName.adding(".new"))
    if isFlushed, fsync(file.number) != 0 { throw HTTPError(file: own.path, "fsync") }
    try own.place(at: name, replacesExisting: replacesExisting)
    dataName.remove()
    if isFresh { part.remove() }
  }

  /// Unlocks the files. Another download may use them from now on.
  func release() {
    let files = files.withLock { $0 }
    for file in [files.kept, files.fresh] { if let file { flock(file.number, LOCK_UN) } }
  }

  /// Removes what an earlier download to a target has left, if no other download uses it now.
  static func discard(for target: URL) {
    if let file = try? open(for: target, replacesExisting: true) {
      file.discard()
      file.freshName.remove()
    }
  }

  func discard() {
    dropFresh()
    // In this order: resume data without its bytes would do no harm, but would also be of no use.
    dataName.remove()
    part.remove()
  }
}

/// Writes the body of one leg of a download to the place that the download wants. Belongs to the loop.
final class ResumeSink: BodySink {
  /// The most bytes that are read of a body that is not part of the file, so that the connection can be reused.
  private static let mostSkipped = 64 * 1_024

  private let download: DownloadCore
  private let file: PartialFile
  private var skipped = 0

  init(_ download: DownloadCore, _ file: PartialFile) {
    self.download = download
    self.file = file
  }

  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError) {
    try download.handle(.answered(ResumeAnswer(response, length: length)), file)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance {
    guard let offset = try download.offset(ofNext: bytes.count, file) else {
      skipped += bytes.count
      return skipped <= Self.mostSkipped ? .taken : .refused
    }
    try unsafe file.write(bytes, at: offset)
    try download.handle(.received(Int64(bytes.count)), file)
    return .taken
  }

  var canContinue: Bool { download.machine.canContinue }

  func askForRest(in request: inout HTTPRequest) throws(HTTPError) { try download.restart(file).ask(in: &request) }

  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    try download.handle(.bodyEnded(isWhole: failure == nil), file)
    return .file(file.target)
  }
}
