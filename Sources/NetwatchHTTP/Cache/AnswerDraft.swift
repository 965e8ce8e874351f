/// A file of a cache that is being written: its head, then its body, then the preface that completes it. Belongs to the cache's
/// thread.
final class AnswerDraft {
  let answer: StoredAnswer
  /// The name of the file in the cache's folder.
  let name: String
  let file: OpenFile
  private let headCount: Int
  private let headSum: UInt32
  private let limit: Int64
  private var bodyCount: Int64 = 0
  private var bodySum = Checksum()

  /// - Parameter limit: The most bytes of the file.
  init(_ answer: StoredAnswer, _ file: OpenFile, named name: String, limit: Int64) throws(HTTPError) {
    guard let head = answer.fileText else {
      throw HTTPError(.fileFailed, "store \(answer.url)", message: "its head is too long")
    }
    self.answer = answer
    self.name = name
    self.file = file
    self.limit = limit
    headCount = head.count
    headSum = Checksum.of(head)
    try file.write(head, at: Int64(AnswerPreface.size), named: name)
  }

  var size: Int64 { Int64(AnswerPreface.size + headCount) + bodyCount }

  /// Appends bytes to the body.
  func append(_ bytes: [UInt8]) throws(HTTPError) {
    guard size + Int64(bytes.count) <= limit else {
      throw HTTPError(.responseTooLarge, "store \(answer.url)", message: "more than \(limit) bytes")
    }
    try file.write(bytes, at: size, named: name)
    unsafe bytes.withUnsafeBytes { unsafe bodySum.add($0) }
    bodyCount += Int64(bytes.count)
  }

  /// Writes the preface, when the body is complete.
  func end() throws(HTTPError) {
    let preface = AnswerPreface(
      headCount: headCount, bodyCount: bodyCount, headSum: headSum, bodySum: bodySum.value)
    try file.write(preface.bytes, at: 0, named: name)
  }
}
