import FoundationEssentials
import HTTPTypes
import Netwatch

/// A transport that answers requests with a closure of yours, and keeps the requests, for tests of an app.
///
/// ```swift
/// let server = ScriptedTransport { request, body in
///   switch (request.method, request.path) {
///   case (.get, "/users/1"): try .json(User(name: "Ali"))
///   case (.post, "/users"): HTTPTransportAnswer(.created, body: body)
///   default: HTTPTransportAnswer(.notFound)
///   }
/// }
/// var configuration = HTTPSessionConfiguration()
/// configuration.transport = server
/// ```
public final class ScriptedTransport: HTTPTransport {
  /// A request with its body.
  public struct Request: Sendable {
    /// The request, without what libcurl adds: the user agent, the accepted encodings, the credential, and the type and
    /// encoding of the body (``HTTPBody/contentType``, ``HTTPBody/contentEncoding``).
    public let request: HTTPRequest
    /// The body of the request. Empty if it has none.
    public let body: Data
  }

  /// A closure that returns the answer to a request. If it throws, the attempt fails as if the network had failed: with the same
  /// error if it is an ``HTTPError``, otherwise with `connectionLost`, whose ``HTTPError/underlying`` error it becomes.
  public typealias Script = @Sendable (_ request: HTTPRequest, _ body: Data) async throws -> HTTPTransportAnswer

  private let script: Script
  private let log = Lock<[Request]>([])

  /// Creates a transport.
  ///
  /// - Parameter script: Returns the answer to each request.
  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far, in the order in which they arrived.
  public var requests: [Request] { log.withLock { $0 } }

  /// Keeps a request, and returns the answer of the script.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: The body of the request. Nil for none.
  /// - Throws: The error of the script, or of the body if it cannot be read.
  public func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer {
    var data = Data()
    if let body { data = try await body.data() }
    let seen = Request(request: request, body: data)
    log.withLock { $0.append(seen) }
    do {
      return try await script(request, data)
    } catch {
      throw HTTPError(ofTransport: error, "request")
    }
  }
}
