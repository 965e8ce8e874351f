import HTTPTypes

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
  /// ``HTTPSessionConfiguration/eventObservers`` and ``HTTPSessionManager/taskEvents(bufferingNewest:)``.
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
  func converted<Other: Sendable>(
    _ convert: (HTTPReply<Value>) throws(HTTPError) -> Other
  ) throws(HTTPError) -> HTTPReply<Other> {
    guard let tell = facts.onSerialized else { return with(try convert(self)) }
    let began = ContinuousClock.now
    do {
      let other = try convert(self)
      let duration = ContinuousClock.now - began
      tell(.success(other), duration)
      return HTTPReply<Other>(other, facts.serialized(in: duration))
    } catch {
      tell(.failure(error), ContinuousClock.now - began)
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
  let onSerialized: (@Sendable (Result<any Sendable, HTTPError>, Duration) -> Void)?

  init(
    _ response: HTTPResponse, to request: HTTPRequest, _ metrics: HTTPMetrics, earlier: [HTTPMetrics] = [],
    trailers: HTTPFields? = nil, serializationDuration: Duration? = nil,
    onSerialized: (@Sendable (Result<any Sendable, HTTPError>, Duration) -> Void)? = nil
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
