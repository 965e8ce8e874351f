import FoundationEssentials
import HTTPTypes
import NetwatchLibC

/// A destination for the body of a response. Belongs to the loop.
protocol BodySink: AnyObject {
  /// Called before the first byte, when a response was accepted as the final one.
  ///
  /// - Parameter length: The length that the server has sent. Nil if it has sent none.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError)
  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance
  /// Whether another attempt may follow one whose body has broken off.
  var canContinue: Bool { get }
  /// Called before such an attempt. ``begin(_:to:length:)`` follows.
  ///
  /// - Parameter request: The request of the attempt, which is made to ask for what is missing.
  func askForRest(in request: inout HTTPRequest) throws(HTTPError)
  /// Called when the body is complete, or will never be.
  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody
}

extension BodySink {
  /// False: what has gone to a file or a stream cannot be taken back.
  var canContinue: Bool { false }
  func askForRest(in request: inout HTTPRequest) throws(HTTPError) {}
}

/// The result of offering a part of a body to a sink.
enum BodyAcceptance { case taken, paused, refused }

/// The result of receiving a body.
enum ReceivedBody: Sendable {
  case none
  case data(Data)
  case file(URL)

  /// The body in memory; empty if it is elsewhere.
  var data: Data {
    switch self {
    case .data(let data): data
    case .none, .file: Data()
    }
  }

  var file: URL {
    get throws(HTTPError) {
      guard case .file(let url) = self else { throw HTTPError(.fileFailed, "download", message: "there is no file") }
      return url
    }
  }
}

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
