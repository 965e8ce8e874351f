import FoundationEssentials
import HTTPTypes
import Netwatch

/// Answers requests by a function of yours, and keeps them, for tests of an app.
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
  /// A request, and the body that came with it.
  public struct Request: Sendable {
    public let request: HTTPRequest
    public let body: Data
  }

  /// Makes the answer to a request. What it throws fails the attempt, as if the network had: an ``HTTPError`` as it is, another
  /// error beneath `connectionLost`.
  public typealias Script = @Sendable (_ request: HTTPRequest, _ body: Data) async throws -> HTTPTransportAnswer

  private let script: Script
  private let log = Lock<[Request]>([])

  public init(_ script: @escaping Script) { self.script = script }

  /// The requests so far, in the order in which they have come.
  public var requests: [Request] { log.withLock { $0 } }

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
