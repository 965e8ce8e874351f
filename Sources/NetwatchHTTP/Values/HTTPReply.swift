import HTTPTypes

/// What a request has brought.
public struct HTTPReply<Value: Sendable>: Sendable {
  public let value: Value
  private let facts: ReplyFacts

  public var response: HTTPResponse { facts.response }
  /// The request that the server has answered: after redirects, another one than the task's.
  public var request: HTTPRequest { facts.request.value }
  public var metrics: HTTPMetrics { facts.metrics }
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

  func with<Other: Sendable>(_ value: Other) -> HTTPReply<Other> { HTTPReply<Other>(value, facts) }
}

/// Shared by all copies of a reply: it is large, and is handed on more often than it is read.
///
/// Made by the thread that asks, and most often freed by it, because glibc lets two threads wait for one another where one frees
/// what the other has taken. `@unchecked`: filled by the loop alone, before the reply is handed on.
final class ReplyFacts: @unchecked Sendable {
  private(set) var response: HTTPResponse
  private(set) var request: SharedRequest
  /// Of the last attempt.
  var metrics: HTTPMetrics
  /// Nil for none: an empty list takes memory.
  var trailers: HTTPFields?

  init(_ response: HTTPResponse, _ request: SharedRequest, _ metrics: HTTPMetrics) {
    self.response = response
    self.request = request
    self.metrics = metrics
  }

  convenience init(to request: SharedRequest) { self.init(HTTPResponse(status: .ok), request, HTTPMetrics()) }

  /// - Parameter request: the one that was answered, where it is not the one that was asked.
  func fill(_ response: HTTPResponse, to request: SharedRequest?) {
    self.response = response
    if let request { self.request = request }
  }
}
