import HTTPTypes

/// How a session is made.
public struct HTTPSessionConfiguration: Sendable {
  /// For tasks that come without options of their own.
  public var taskOptions = HTTPTaskOptions()
  /// Sent with every request that has no field of that name.
  public var headerFields = HTTPFields()
  /// Writes the parameters of verbs. Default: into the query, or into a body that is written like one.
  public var requestSerializer: any RequestSerializer = HTTPRequestSerializer()
  /// Default 6. What is more waits for one of them. With HTTP/2 one is shared by all requests to a host.
  public var connectionsPerHost = 6
  /// Whether HTTP/2 is offered to https servers. Default true.
  public var allowsHTTP2 = true
  /// Whether what servers store in cookies is sent back, while the session lives. Default true.
  public var handlesCookies = true
  /// Whether compressed responses are asked for, and taken apart. Default true.
  public var acceptsCompressed = true

  public init() {}
}
