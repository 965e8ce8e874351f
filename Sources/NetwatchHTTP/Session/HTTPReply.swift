import HTTPTypes

/// What a request has brought.
public struct HTTPReply<Value: Sendable>: Sendable {
  public let response: HTTPResponse
  public let value: Value
  /// The request that the server has answered: after redirects, another one than the task's.
  public let request: HTTPRequest
  public let metrics: HTTPMetrics

  init(_ response: HTTPResponse, _ value: Value, to request: HTTPRequest, _ metrics: HTTPMetrics) {
    self.response = response
    self.value = value
    self.request = request
    self.metrics = metrics
  }

  func with<Other: Sendable>(_ value: Other) -> HTTPReply<Other> {
    HTTPReply<Other>(response, value, to: request, metrics)
  }
}
