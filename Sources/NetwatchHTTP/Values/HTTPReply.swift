import HTTPTypes

/// What a request has brought.
public struct HTTPReply<Value: Sendable>: Sendable {
  public let value: Value
  private let facts: ReplyFacts

  public var response: HTTPResponse { facts.response }
  /// The request that the server has answered: after redirects, another one than the task's.
  public var request: HTTPRequest { facts.request.value }
  /// What the last attempt took.
  public var metrics: HTTPMetrics { facts.metrics }
  /// What each attempt took, in their order: redirects, answers to challenges and retries are attempts of their own. The last
  /// element is ``metrics``.
  public var allMetrics: [HTTPMetrics] { (facts.extras?.earlierMetrics ?? []) + [facts.metrics] }
  /// The time that the serializer has taken. Nil if nobody observes the tasks of the session, or if there was no serializer. See
  /// ``HTTPSessionConfiguration/eventObservers`` and ``HTTPSessionManager/taskEvents(bufferingNewest:)``.
  public var serializationDuration: Duration? { facts.extras?.serializationDuration }
  /// The fields that the server has sent behind the body (RFC 9110, section 6.5), such as a checksum. Empty if there are none.
  ///
  /// They are kept apart from the response's header fields, because a server may know less about who has made them. Many servers
  /// send them only if the request has `TE: trailers`, and libcurl reads none behind a body that has a `Content-Length`.
  public var trailers: HTTPFields { knownTrailers ?? [:] }
  /// Nil for none.
  var knownTrailers: HTTPFields? { facts.trailers }

  init(_ response: HTTPResponse, _ value: Value, to request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.init(value, ReplyFacts(response, SharedRequest(request), metrics))
  }

  init(_ value: Value, _ facts: ReplyFacts) {
    self.value = value
    self.facts = facts
  }

  /// Makes another value of this one. Takes the time, and tells those who observe the task, if there are any.
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

/// Shared by all copies of a reply: it is large, and is handed on more often than it is read.
///
/// Made by the thread that asks, and most often freed by it, because glibc lets two threads wait for one another where one frees
/// what the other has taken. `@unchecked`: filled by the loop, then by who serializes, before the reply is
/// handed on.
final class ReplyFacts: @unchecked Sendable {
  private(set) var response: HTTPResponse
  private(set) var request: SharedRequest
  /// Of the last attempt.
  var metrics: HTTPMetrics
  /// What few replies have; nil for none.
  private(set) var extras: ReplyExtras?
  /// Nil for none: an empty list takes memory.
  var trailers: HTTPFields?

  init(_ response: HTTPResponse, _ request: SharedRequest, _ metrics: HTTPMetrics) {
    self.response = response
    self.request = request
    self.metrics = metrics
  }

  convenience init(to request: SharedRequest) { self.init(HTTPResponse(status: .ok), request, HTTPMetrics()) }

  /// What the attempt before has taken is kept.
  func beginAttempt() {
    let extras = makeExtras()
    extras.earlierMetrics.append(metrics)
    metrics = HTTPMetrics()
    metrics.furtherAttempts = extras.earlierMetrics.count
  }

  /// An attempt that was begun is none: those before it are all.
  func dropAttempt() {
    if let earlier = extras?.earlierMetrics.popLast() { metrics = earlier }
  }

  func makeExtras() -> ReplyExtras {
    let extras = extras ?? ReplyExtras()
    self.extras = extras
    return extras
  }

  /// - Parameter request: the one that was answered, where it is not the one that was asked.
  func fill(_ response: HTTPResponse, to request: SharedRequest?) {
    self.response = response
    if let request { self.request = request }
  }
}

/// What a reply has if its task made several attempts, or if somebody observes its session. `@unchecked`: like ``ReplyFacts``.
final class ReplyExtras: @unchecked Sendable {
  /// Of the attempts before the last one.
  var earlierMetrics: [HTTPMetrics] = []
  /// Nil if nobody wants to know it.
  var serializationDuration: Duration?
  /// To be told what a serializer has made of the body; nil if nobody wants to hear of it.
  var onSerialized: (@Sendable (Result<any Sendable, HTTPError>, Duration) -> Void)?
}
