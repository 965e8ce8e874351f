import HTTPTypes

/// One call of a verb: a path, what to send, and how to write it.
public struct HTTPCall: Sendable {
  public var method: HTTPRequest.Method
  /// Relative to the session's base, or a URL of its own.
  public var path: String
  public var parameters: StructuredValue?
  /// Of this call; they win over the serializer's and the session's.
  public var headerFields: HTTPFields
  /// Default nil: the session's.
  public var serializer: (any RequestSerializer)?
  /// Default nil: the session's.
  public var options: HTTPTaskOptions?

  public init(
    _ method: HTTPRequest.Method, _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    serializer: (any RequestSerializer)? = nil, options: HTTPTaskOptions? = nil
  ) {
    self.method = method
    self.path = path
    self.parameters = parameters
    self.headerFields = headerFields
    self.serializer = serializer
    self.options = options
  }
}
