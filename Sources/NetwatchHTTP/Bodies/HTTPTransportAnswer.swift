import FoundationEssentials
import HTTPTypes

/// The answer of an ``HTTPTransport`` to a request: the head of a response, and its body.
public struct HTTPTransportAnswer: Sendable {
  /// The head of the response.
  public var response: HTTPResponse
  /// Calls `deliver` with each part of the body; `deliver` returns when there is room for the next part.
  let body: @Sendable (_ deliver: (Data) async -> Void) async throws -> Void

  /// An answer with a body in memory.
  ///
  /// - Parameters:
  ///   - status: Default: 200.
  ///   - headerFields: `Content-Length` is added if it is not there.
  ///   - body: Default: empty.
  public init(_ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: Data = Data()) {
    response = HTTPResponse(status: status, headerFields: headerFields)
    if response.headerFields[.contentLength] == nil { response.headerFields[.contentLength] = "\(body.count)" }
    self.body = { deliver in if !body.isEmpty { await deliver(body) } }
  }

  /// An answer whose body comes in parts. The request fails with what the sequence throws: an ``HTTPError`` as it is, another
  /// error beneath `connectionLost`.
  public init<Parts: AsyncSequence & Sendable>(
    _ status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], parts: Parts
  ) where Parts.Element == Data {
    response = HTTPResponse(status: status, headerFields: headerFields)
    body = { deliver in
      for try await part in parts {
        await deliver(part)
        // The sequence itself may not look.
        try Task.checkCancellation()
      }
    }
  }

  /// An answer with text in UTF-8.
  public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> HTTPTransportAnswer {
    HTTPTransportAnswer(status, headerFields: [.contentType: "text/plain; charset=utf-8"], body: Data(text.utf8))
  }

  /// An answer with a value as JSON.
  ///
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
  /// What somebody has thrown who stands for the network.
  init(ofTransport error: any Error, _ operation: String) {
    self = error as? HTTPError ?? HTTPError(.connectionLost, operation, message: "\(error)", underlying: error)
  }
}
