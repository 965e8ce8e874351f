import FoundationEssentials
import HTTPTypes

/// Puts the body of one leg of a download where the download wants it. Belongs to the loop.
final class ResumeSink: BodySink {
  /// A body that is no part of the file is read up to here, so that the connection can be used again.
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

  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    try download.handle(.bodyEnded(isWhole: failure == nil), file)
    return .file(file.target)
  }
}
