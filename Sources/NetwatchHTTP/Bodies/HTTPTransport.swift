import FoundationEssentials
import HTTPTypes

/// A transport that carries the requests of a session instead of libcurl, so that you can test an app without a server.
///
/// Everything else works as in a real session: serializers, interceptors, redirects, retries, progress, streams, downloads and the
/// activity indicator. There are no connections, so nothing is decompressed, cookies are neither kept nor sent, and the
/// ``HTTPTaskOptions/credential`` and the fields that libcurl adds are left out.
/// ``ScriptedTransport`` and ``RecordedTransport`` are ready-made transports.
public protocol HTTPTransport: Sendable {
  /// Answers one attempt of a task: the first request, the request after a redirect, or a retry.
  ///
  /// Called in a separate Swift task, which is cancelled when the answer is no longer needed.
  ///
  /// - Parameters:
  ///   - request: The request, without what libcurl adds: the user agent, the accepted encodings, the credential, and the type and
  ///     encoding of the body (``HTTPBody/contentType``, ``HTTPBody/contentEncoding``).
  ///   - body: The body of the request. Nil for none. See ``HTTPBody/data()``.
  /// - Returns: The head and the body of the response.
  /// - Throws: The error that the attempt fails with.
  func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer
}

/// The answer of an ``HTTPTransport`` to a request: the head and the body of a response.
public struct HTTPTransportAnswer: Sendable {
  /// The head of the response.
  public var response: HTTPResponse
  /// Calls `deliver` with each part of the body. `deliver` returns when there is room for the next part.
  let body: @Sendable (_ deliver: (Data) async -> Void) async throws -> Void

  /// Creates an answer with a body in memory.
  ///
  /// - Parameters:
  ///   - status: The status. Default: 200.
  ///   - headerFields: The header fields. `Content-Length` is added if it is missing. Default: none.
  ///   - body: The body. Default: empty.
  public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: Data = Data()) {
    response = HTTPResponse(status: status, headerFields: headerFields)
    if response.headerFields[.contentLength] == nil { response.headerFields[.contentLength] = "\(body.count)" }
    self.body = { deliver in if !body.isEmpty { await deliver(body) } }
  }

  /// Creates an answer whose body comes in parts.
  ///
  /// If the sequence throws an ``HTTPError``, the request fails with it. Any other error becomes the underlying error of a
  /// `connectionLost`.
  ///
  /// - Parameters:
  ///   - status: The status. Default: 200.
  ///   - headerFields: The header fields. Default: none.
  ///   - parts: The parts of the body.
  public init<Parts: AsyncSequence & Sendable>(
    _ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], parts: Parts
  ) where Parts.Element == Data {
    response = HTTPResponse(status: status, headerFields: headerFields)
    body = { deliver in
      for try await part in parts {
        await deliver(part)
        // The sequence itself may not check for cancellation.
        try Task.checkCancellation()
      }
    }
  }

  /// Returns an answer with text in UTF-8.
  ///
  /// - Parameters:
  ///   - text: The text.
  ///   - status: The status. Default: 200.
  public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> HTTPTransportAnswer {
    HTTPTransportAnswer(status, headerFields: [.contentType: "text/plain; charset=utf-8"], body: Data(text.utf8))
  }

  /// Returns an answer with a value encoded as JSON.
  ///
  /// - Parameters:
  ///   - value: The value to encode.
  ///   - status: The status. Default: 200.
  ///   - encoder: The encoder. Default: a new `JSONEncoder`.
  /// - Throws: `cannotEncodeRequest` if the value cannot be encoded.
  public static func json(
    _ value: some Encodable, status: HTTPResponse.Status = .ok, encoder: JSONEncoder = JSONEncoder()
  ) throws(HTTPError) -> HTTPTransportAnswer {
    HTTPTransportAnswer(status, headerFields: [.contentType: "application/json"], body: try encoder.body(of: value))
  }
}

extension JSONEncoder {
  /// - Throws: `cannotEncodeRequest`.
  func body(of value: some Encodable) throws(HTTPError) -> Data {
    do {
      return try encode(value)
    } catch {
      throw HTTPError(.cannotEncodeRequest, "encode JSON", message: "\(error)", underlying: error)
    }
  }
}

extension HTTPError {
  /// Converts an error that was thrown by a transport, or by code in its place.
  init(ofTransport error: any Error, _ operation: String) {
    self = error as? HTTPError ?? HTTPError(.connectionLost, operation, message: "\(error)", underlying: error)
  }
}
