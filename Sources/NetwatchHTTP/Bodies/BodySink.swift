import FoundationEssentials
import Glibc
import HTTPTypes

/// A destination for the body of a response. Belongs to the loop.
protocol BodySink: AnyObject {
  /// Called before the first byte, when a response was accepted as the final one.
  ///
  /// - Parameter length: The length that the server has sent. Nil if it has sent none.
  func begin(_ response: HTTPResponse, to request: HTTPRequest, length: Int64?) throws(HTTPError)
  func write(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance
  /// Whether another attempt may follow one whose body has broken off.
  var canGoOn: Bool { get }
  /// Called before such an attempt. ``begin(_:to:length:)`` follows.
  ///
  /// - Parameter request: The request of the attempt, which is made to ask for what is missing.
  func goOn(with request: inout HTTPRequest) throws(HTTPError)
  /// Called when the body is complete, or will never be.
  func end(_ failure: HTTPError?) throws(HTTPError) -> ReceivedBody
}

extension BodySink {
  /// False: what has gone to a file or a stream cannot be taken back.
  var canGoOn: Bool { false }
  func goOn(with request: inout HTTPRequest) throws(HTTPError) {}
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
