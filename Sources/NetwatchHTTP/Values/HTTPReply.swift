import HTTPTypes
import Netwatch

/// The result of a request: the response, a value made from its body, and metrics.
public struct HTTPReply<Value: Sendable>: Sendable {
  /// The value that was made from the body of the response.
  public let value: Value
  private let facts: ReplyFacts

  /// The head of the response: its status and header fields.
  public var response: HTTPResponse { facts.response }
  /// The request of the task, or, after redirects, the last request that was sent. It never has what libcurl adds. It has the
  /// changes of interceptors only after a redirect.
  public var request: HTTPRequest { facts.request }
  /// The metrics of the last attempt.
  public var metrics: HTTPMetrics { facts.metrics }
  /// The metrics of each attempt, in order. Redirects, answers to challenges and retries are separate attempts. The last
  /// element is ``metrics``.
  public var allMetrics: [HTTPMetrics] { facts.earlierMetrics + [facts.metrics] }
  /// The time that the serializer took. Nil if there was no serializer, or if nothing observes the tasks of the session. See
  /// ``HTTPSessionConfiguration/eventObservers`` and ``HTTPSessionManager/taskEvents(bufferingNewest:includesBodies:)``.
  public var serializationDuration: Duration? { facts.serializationDuration }
  /// The fields that the server has sent after the body (RFC 9110, section 6.5), such as a checksum. Empty if there are none.
  ///
  /// They are not among the header fields of the response, because code that trusts a header field must not get it from a
  /// trailer. Many servers send trailers only if the request has `TE: trailers`. libcurl reads none after a body that has a
  /// `Content-Length`.
  public var trailers: HTTPFields { knownTrailers ?? [:] }
  /// The trailers. Nil for none.
  var knownTrailers: HTTPFields? { facts.trailers }

  init(_ response: HTTPResponse, _ value: Value, to request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.init(value, ReplyFacts(response, to: request, metrics))
  }

  init(_ value: Value, _ facts: ReplyFacts) {
    self.value = value
    self.facts = facts
  }

  /// Makes another value from this one. If the task is observed, measures the time and reports the result to its observers.
  ///
  /// - Parameter serializer: The type of the serializer, which the observers are told.
  func converted<Other: Sendable>(
    by serializer: Any.Type, _ convert: (HTTPReply<Value>) throws(HTTPError) -> Other
  ) throws(HTTPError) -> HTTPReply<Other> {
    guard let tell = facts.onSerialized else { return with(try convert(self)) }
    let began = ContinuousClock.now
    do {
      let other = try convert(self)
      let duration = ContinuousClock.now - began
      tell(.success(other), duration, "\(serializer)")
      return HTTPReply<Other>(other, facts.serialized(in: duration))
    } catch {
      tell(.failure(error), ContinuousClock.now - began, "\(serializer)")
      throw error
    }
  }

  func with<Other: Sendable>(_ value: Other) -> HTTPReply<Other> { HTTPReply<Other>(value, facts) }
}

/// The facts of a reply, which all its copies share.
final class ReplyFacts: Sendable {
  let response: HTTPResponse
  /// The request that was answered.
  let request: HTTPRequest
  /// The metrics of the last attempt.
  let metrics: HTTPMetrics
  /// The metrics of the attempts before the last one.
  let earlierMetrics: [HTTPMetrics]
  /// The trailers. Nil for none.
  let trailers: HTTPFields?
  /// The time that the serializer took. Nil if nothing asks for it.
  let serializationDuration: Duration?
  /// Reports the result of a serializer. Nil if nothing observes it.
  let onSerialized: SerializationObserver?

  /// Gets the result of a serializer, the time that it took, and the name of its type.
  typealias SerializationObserver = @Sendable (Result<any Sendable, HTTPError>, Duration, String) -> Void

  init(
    _ response: HTTPResponse, to request: HTTPRequest, _ metrics: HTTPMetrics, earlier: [HTTPMetrics] = [],
    trailers: HTTPFields? = nil, serializationDuration: Duration? = nil,
    onSerialized: SerializationObserver? = nil
  ) {
    self.response = response
    self.request = request
    self.metrics = metrics
    earlierMetrics = earlier
    self.trailers = trailers
    self.serializationDuration = serializationDuration
    self.onSerialized = onSerialized
  }

  /// Returns the facts after a serializer has taken this time.
  func serialized(in duration: Duration) -> ReplyFacts {
    ReplyFacts(
      response, to: request, metrics, earlier: earlierMetrics, trailers: trailers, serializationDuration: duration)
  }
}

/// Descriptions of a reply without header fields, bodies and queries, which may hold secrets.
extension HTTPReply: CustomStringConvertible, CustomDebugStringConvertible {
  /// The reply in one line: `GET https://example.org/users: 200 OK, 512 bytes in 0.034 seconds`. The bytes are those of the
  /// body as sent over the network.
  public var description: String {
    "\(request.title): \(response.status), \(metrics.bytesReceived) bytes in \(metrics.total)"
  }

  /// The reply in several lines: ``description``, the type of the value, and the time of each attempt.
  public var debugDescription: String {
    var lines = ["\(self)", "value: \(Value.self)"]
    for (index, metrics) in allMetrics.enumerated() {
      let connection = metrics.reusedConnection ? "a used" : "a new"
      // Without a version there was no connection: the cache or a transport has answered.
      let version =
        metrics.protocolVersion.isEmpty ? "" : " over HTTP/\(metrics.protocolVersion) on \(connection) connection"
      lines.append("attempt \(index + 1): \(metrics.total)\(version)")
    }
    if let serializationDuration { lines.append("serialization: \(serializationDuration)") }
    return lines.joined(separator: "\n")
  }
}

/// The version of HTTP that a session uses. The server may answer with an older one.
public enum HTTPVersion: Hashable, Sendable {
  /// HTTP/1.1 for every request.
  case http1_1
  /// HTTP/2 is offered to https servers in the TLS handshake. A server without HTTP/2 gets HTTP/1.1. Requests without TLS use
  /// HTTP/1.1.
  case http2
  /// Requests without TLS use HTTP/2 without negotiation (RFC 9113, section 3.3), except through an HTTP proxy. A server without
  /// TLS that only supports HTTP/1.1 cannot be reached. Before libcurl 8.0.0, each request without TLS opens a new connection.
  ///
  /// For https, and through an HTTP proxy, this is the same as ``http2``.
  case http2PriorKnowledge
}

/// Times and amounts of one attempt of a task. Each duration counts from the beginning of the attempt. It is nil if the attempt
/// did not reach that step.
public struct HTTPMetrics: Sendable {
  /// The time until the name of the host was resolved. Nil if the attempt did not reach that step.
  public var nameLookup: Duration?
  /// The time until the connection was made. Nil if the attempt used an existing connection, or made none.
  public var connect: Duration?
  /// The time until the TLS handshake was complete. Nil for http.
  public var secureConnect: Duration?
  /// The time until the first byte of the response arrived. Nil if none arrived.
  public var firstByte: Duration?
  /// The time until the end of the attempt.
  public var total: Duration = .zero
  /// The number of attempts that redirects, challenges and retries added to the first one. Default: 0.
  public var furtherAttempts = 0
  /// Whether the attempt used a connection of an earlier one. False if it used none, because the cache or a transport answered.
  public var reusedConnection = false
  /// The version of HTTP: `2` for HTTP/2, `1.1` or `1.0`. Empty if it is not known.
  public var protocolVersion = ""
  /// The bytes of the request body as sent over the network: with content encoding, without header fields.
  public var bytesSent: Int64 = 0
  /// The bytes of the response body as sent over the network: with content encoding, without header fields.
  public var bytesReceived: Int64 = 0
  /// How the session's cache has answered. Nil if the response is the server's.
  public var cacheUse: HTTPCacheUse?
}

/// The local interface or address that the connections of a session leave from.
///
/// Name lookups do not use it: queries to a name server leave this machine as usual.
public enum LocalEndpoint: Hashable, Sendable {
  /// The interface with this name, such as `eth0` or `wg0`. If the kernel does not permit the program to bind to an interface
  /// (Linux before 5.7 requires CAP_NET_RAW), the connection leaves from an address of the interface.
  case interface(String)
  /// A local address, such as `127.0.0.2`. Servers that only have addresses of the other family cannot be reached.
  case address(InternetAddress)
}

/// How the cache of a session has answered a request. See ``HTTPSessionConfiguration/cache``.
public enum HTTPCacheUse: Hashable, Sendable {
  /// A stored response was used, and the server was not asked.
  case hit
  /// A stored response was used after the server confirmed that it is still valid (304, Not Modified).
  case validated
  /// A stored response was used because the server failed or could not be reached (`stale-if-error`, RFC 5861).
  case stale
  /// There was no response to use, and the request did not permit asking the server. The cache has returned the status 504.
  case miss
}
