import FoundationEssentials
import Glibc
import HTTPTypes

/// Where a response's body goes. Belongs to the loop.
protocol BodySink: AnyObject {
  /// Before the first byte, once a response has been accepted as the one.
  ///
  /// - Parameter length: what the server says; nil where it says nothing.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError)
  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance
  /// The body is whole, or will never be.
  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody
}

/// What becomes of a part of a body that is offered.
enum BodyAcceptance { case taken, paused, refused }

/// What has become of a body.
enum ReceivedBody: Sendable {
  case none
  case data(Data)
  case short(ShortBody)
  case file(URL)

  /// Copied by the thread that asks, where it is short.
  var data: Data {
    switch self {
    case .data(let data): data
    case .short(let body): Data(body.bytes)
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
