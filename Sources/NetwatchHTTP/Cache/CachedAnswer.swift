/// A complete answer from a cache's folder. Its body is read on demand.
///
/// Can be used from any thread. The file stays readable after the cache has removed it.
final class CachedAnswer: Sendable {
  let answer: StoredAnswer
  let preface: AnswerPreface
  let file: OpenFile

  private init(_ answer: StoredAnswer, _ preface: AnswerPreface, _ file: OpenFile) {
    self.answer = answer
    self.preface = preface
    self.file = file
  }

  /// The length in bytes of the body as it is delivered.
  var bodyCount: Int64 { preface.bodyCount }

  /// Reads the next bytes of the body.
  ///
  /// - Returns: The number of bytes. 0 at the end.
  func read(into room: UnsafeMutableRawBufferPointer, at position: Int64) throws(HTTPError) -> Int {
    let left = Int(clamping: max(bodyCount - position, 0))
    let start = Int64(AnswerPreface.size + preface.headCount)
    return try unsafe file.read(
      into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)), at: start + position, named: answer.url)
  }

  // MARK: From a file

  private static let partSize: Int64 = 64 * 1_024

  /// Whether the body matches its checksum. Reads the whole body.
  var isBodyWhole: Bool {
    var sum = Checksum()
    var position: Int64 = 0
    var part = [UInt8](repeating: 0, count: Int(clamping: min(bodyCount, Self.partSize)))
    while position < bodyCount {
      let count = unsafe part.withUnsafeMutableBytes { room -> Int in
        guard let count = try? unsafe read(into: room, at: position) else { return 0 }
        unsafe sum.add(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
        return count
      }
      guard count > 0 else { return false }
      position += Int64(count)
    }
    return sum.value == preface.bodySum
  }

  /// Returns an answer whose body was not checked. Nil for a file that is incomplete or does not belong to a cache.
  static func head(of file: OpenFile) -> CachedAnswer? {
    guard let size = file.size(), let start = bytes(of: file, AnswerPreface.size, at: 0),
      let preface = AnswerPreface(start, fileSize: size),
      let text = bytes(of: file, preface.headCount, at: Int64(AnswerPreface.size)),
      Checksum.of(text) == preface.headSum, let answer = StoredAnswer(fileText: text)
    else { return nil }
    return CachedAnswer(answer, preface, file)
  }

  private static func bytes(of file: OpenFile, _ count: Int, at offset: Int64) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = unsafe bytes.withUnsafeMutableBytes { try? unsafe file.read(into: $0, at: offset, named: "an answer") }
    return read == count ? bytes : nil
  }
}
