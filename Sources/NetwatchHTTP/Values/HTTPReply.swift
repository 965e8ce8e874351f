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
  public var request: HTTPRequest { facts.request.value }
  /// The metrics of the last attempt.
  public var metrics: HTTPMetrics { facts.metrics }
  /// The metrics of each attempt, in order. Redirects, answers to challenges and retries are separate attempts. The last
  /// element is ``metrics``.
  public var allMetrics: [HTTPMetrics] { (facts.extras?.earlierMetrics ?? []) + [facts.metrics] }
  /// The time that the serializer took. Nil if there was no serializer, or if nothing observes the tasks of the session. See
  /// ``HTTPSessionConfiguration/eventObservers`` and ``HTTPSessionManager/taskEvents(bufferingNewest:)``.
  public var serializationDuration: Duration? { facts.extras?.serializationDuration }
  /// The fields that the server has sent after the body (RFC 9110, section 6.5), such as a checksum. Empty if there are none.
  ///
  /// They are not among the header fields of the response, because code that trusts a header field must not get it from a
  /// trailer. Many servers send trailers only if the request has `TE: trailers`. libcurl reads none after a body that has a
  /// `Content-Length`.
  public var trailers: HTTPFields { knownTrailers ?? [:] }
  /// The trailers. Nil for none.
  var knownTrailers: HTTPFields? { facts.trailers }

  init(_ response: HTTPResponse, _ value: Value, to request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.init(value, ReplyFacts(response, Shared(request), metrics))
  }

  init(_ value: Value, _ facts: ReplyFacts) {
    self.value = value
    self.facts = facts
  }

  /// Makes another value from this one. If the task is observed, measures the time and reports the result to its observers.
  func converted<Other: Sendable>(
    _ convert: (HTTPReply<Value>) throws(HTTPError) -> Other
  ) throws(HTTPError) -> HTTPReply<Other> {
    guard let extras = facts.extras, let tell = extras.onSerialized else { return with(try convert(self)) }
    extras.onSerialized = nil
    let began = ContinuousClock.now
    do {
      let other = try convert(self)
      let duration = ContinuousClock.now - began
      extras.serializationDuration = duration
      tell(.success(other), duration)
      return with(other)
    } catch {
      tell(.failure(error), ContinuousClock.now - began)
      throw error
    }
  }

  func with<Other: Sendable>(_ value: Other) -> HTTPReply<Other> { HTTPReply<Other>(value, facts) }
}

/// The large part of a reply, shared by all its copies because a reply is passed on more often than it is read.
///
/// The calling thread makes it and usually frees it, because in glibc a thread that frees memory of another thread can make
/// both wait. `@unchecked`: the loop fills it, then the serializing code, before the reply is passed on.
final class ReplyFacts: @unchecked Sendable {
  private(set) var response: HTTPResponse
  private(set) var request: Shared<HTTPRequest>
  /// The metrics of the last attempt.
  var metrics: HTTPMetrics
  /// The facts that only few replies have. Nil for none.
  private(set) var extras: ReplyExtras?
  /// The trailers. Nil for none, because an empty list takes memory.
  var trailers: HTTPFields?

  init(_ response: HTTPResponse, _ request: Shared<HTTPRequest>, _ metrics: HTTPMetrics) {
    self.response = response
    self.request = request
    self.metrics = metrics
  }

  /// The response of facts that are not filled yet.
  private static let noResponse = HTTPResponse(status: .ok)

  convenience init(to request: Shared<HTTPRequest>) { self.init(Self.noResponse, request, HTTPMetrics()) }

  /// Keeps the metrics of the attempt before, and begins new ones.
  func beginAttempt() {
    let extras = makeExtras()
    extras.earlierMetrics.append(metrics)
    metrics = HTTPMetrics()
    metrics.furtherAttempts = extras.earlierMetrics.count
  }

  /// Undoes ``beginAttempt()``, for an attempt that is not made.
  func dropAttempt() {
    if let earlier = extras?.earlierMetrics.popLast() { metrics = earlier }
  }

  func makeExtras() -> ReplyExtras {
    let extras = extras ?? ReplyExtras()
    self.extras = extras
    return extras
  }

  /// - Parameter request: The request that was answered. Nil if it is the request of the task.
  func fill(_ response: HTTPResponse, to request: Shared<HTTPRequest>?) {
    self.response = response
    if let request { self.request = request }
  }
}

/// The facts of a reply that has had several attempts, or whose session is observed. `@unchecked`: as for ``ReplyFacts``.
final class ReplyExtras: @unchecked Sendable {
  /// The metrics of the attempts before the last one.
  var earlierMetrics: [HTTPMetrics] = []
  /// The time that the serializer took. Nil if nothing asks for it.
  var serializationDuration: Duration?
  /// Reports the result of a serializer. Nil if nothing observes it.
  var onSerialized: (@Sendable (Result<any Sendable, HTTPError>, Duration) -> Void)?
}
