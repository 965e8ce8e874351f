import FoundationEssentials
import Glibc

/// The bytes of a download that is not whole yet, and what is known of them: `NAME.netwatch-part` and
/// `NAME.netwatch-part.json`.
///
/// Nobody else has it open for a download: neither another task nor another process.
final class PartialFile: Sendable {
  /// More than ``ResumeData`` can need.
  private static let mostData: Int64 = 256 * 1_024

  let target: URL
  private let replacesExisting: Bool
  private let path: String
  private let descriptor: CInt
  private var dataPath: String { path + ".json" }

  static func open(for target: URL, replacesExisting: Bool) throws(HTTPError) -> PartialFile {
    let name = target.path(percentEncoded: false)
    guard target.isFileURL else { throw HTTPError(.fileFailed, "download to \(target)", message: "not a file") }
    if !replacesExisting, unsafe access(name, F_OK) == 0 {
      errno = EEXIST
      throw HTTPError(file: name, "download to")
    }
    return try PartialFile(target, replacesExisting, path: name + ".netwatch-part")
  }

  private init(_ target: URL, _ replacesExisting: Bool, path: String) throws(HTTPError) {
    self.target = target
    self.replacesExisting = replacesExisting
    self.path = path
    descriptor = try Self.openLocked(path)
  }

  deinit { _ = close(descriptor) }

  private static func openLocked(_ path: String) throws(HTTPError) -> CInt {
    while true {
      // Without O_NONBLOCK, a named pipe would wait for its other end.
      let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
      guard descriptor >= 0 else { throw HTTPError(file: path, "open") }
      var (own, named) = (stat(), stat())
      guard unsafe fstat(descriptor, &own) == 0, own.st_mode & S_IFMT == S_IFREG,
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      else {
        let failure =
          errno == EWOULDBLOCK
          ? HTTPError(.fileFailed, "lock \(path)", code: errno, message: "another download writes into it")
          : HTTPError(file: path, "lock")
        _ = close(descriptor)
        throw failure
      }
      // Whoever had it before may have put it into its place since it was opened here: then it is no partial file any more.
      if unsafe lstat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev { return descriptor }
      _ = close(descriptor)
    }
  }

  // MARK: What is known

  /// Nil where nothing was written down, or nothing that can be.
  func load() -> ResumeData? {
    guard let file = try? OpenFile(reading: dataPath), let size = file.size(), size <= Self.mostData else { return nil }
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
    let file = unsafe Glibc.open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw HTTPError(file: name, "open") }
    defer { _ = close(file) }
    let count = unsafe text.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
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

  func size() -> Int64 {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Where that fails, the file is gone: its old bytes must never be taken for those of a new one.
  func empty() throws(HTTPError) {
    guard ftruncate(descriptor, 0) == 0 else {
      let failure = HTTPError(file: path, "truncate")
      discard()
      throw failure
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(HTTPError) {
    var written = 0
    while written < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[written...])
      let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + written)
      if count < 0 {
        if errno == EINTR { continue }
        throw HTTPError(file: path, "write")
      }
      written += count
    }
  }

  /// Puts it into its place.
  func install() throws(HTTPError) {
    try FilePlacement.move(path, to: target.path(percentEncoded: false), replacesExisting: replacesExisting)
    _ = unsafe unlink(dataPath)
  }

  /// Another download may have it from here on.
  func release() { flock(descriptor, LOCK_UN) }

  func discard() {
    // In this order: without its bytes, the data would be of no harm, but of no use either.
    _ = unsafe unlink(dataPath)
    _ = unsafe unlink(path)
  }
}
