import FoundationEssentials
import HTTPTypes

/// Writes the body into a new file beside its destination, and moves it there when it is complete.
final class FileSink: BodySink {
  private let destination: HTTPDestination
  private let isFlushed: Bool
  private var file: NewFile?

  /// - Parameter isFlushed: Whether the complete file is flushed to its disk before it gets its name.
  init(_ destination: HTTPDestination, isFlushed: Bool) {
    self.destination = destination
    self.isFlushed = isFlushed
  }

  /// Throws if the response is not successful, so that an error page never becomes the file.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError) {
    guard response.status.kind == .successful else {
      throw HTTPError(
        .badServerResponse, "download", code: CInt(response.status.code), domain: .http, message: "\(response.status)")
    }
    let target = destination.place(response, request)
    if destination.createsFolders { try OpenFile.createFolder(of: target) }
    file = try NewFile(for: target, replacesExisting: destination.replacesExisting)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance {
    guard let file else { return .refused }
    try unsafe file.write(bytes)
    return .taken
  }

  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody {
    guard failure == nil, let file = file.take() else {
      file = nil
      return .none
    }
    try file.place(isFlushed: isFlushed)
    return .file(file.target)
  }
}
