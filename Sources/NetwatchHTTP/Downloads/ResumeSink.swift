import FoundationEssentials
import HTTPTypes

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

  var canGoOn: Bool { download.machine.canGoOn }

  func goOn(with request: inout HTTPRequest) throws(HTTPError) { try download.goOn(file).ask(in: &request) }

  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    try download.handle(.bodyEnded(isWhole: failure == nil), file)
    return .file(file.target)
  }
}
