import HTTPTypes

/// What a request has brought.
public struct HTTPReply<Value: Sendable>: Sendable {
  public let value: Value
  private let facts: ReplyFacts

  public var response: HTTPResponse { facts.response }
  /// The request that the server has answered: after redirects, another one than the task's.
  public var request: HTTPRequest { facts.request }
  public var metrics: HTTPMetrics { facts.metrics }

  init(_ response: HTTPResponse, _ value: Value, to request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.init(value, ReplyFacts(response, request, metrics))
  }

  private init(_ value: Value, _ facts: ReplyFacts) {
    self.value = value
    self.facts = facts
  }

  func with<Other: Sendable>(_ value: Other) -> HTTPReply<Other> { HTTPReply<Other>(value, facts) }
}

/// Shared by all copies of a reply: it is large, and is handed on more often than it is read.
private final class ReplyFacts: Sendable {
  let response: HTTPResponse
  let request: HTTPRequest
  let metrics: HTTPMetrics

  init(_ response: HTTPResponse, _ request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.response = response
    self.request = request
    self.metrics = metrics
  }
}
