import HTTPTypes

/// All that a session has to know of a request: where it goes, what it carries, and how it is made.
///
/// ```swift
/// let call = HTTPCall(.post, "users", body: try .json(user), options: .with { $0.timeout = .seconds(5) })
/// let created = try await api.send(call, as: User.self).value
/// ```
public struct HTTPCall: RequestConvertible {
  /// The method. Nil means POST if there is a body, and GET otherwise.
  public var method: HTTPRequest.Method? {
    get { ownMethod ?? request?.method }
    set { ownMethod = newValue }
  }
  /// A path relative to the base URL of the session, or a whole URL.
  public var path: String {
    get { ownPath ?? request?.path ?? "" }
    set { ownPath = newValue }
  }
  /// The parameters. Default: nil. The serializer writes them into the URL or into a body; if the call has a body of its own,
  /// they go into the URL.
  public var parameters: StructuredValue?
  /// The body. Default: nil, which leaves it to the serializer.
  public var body: HTTPBody?
  /// The header fields of this call. They win over those of the serializer and of the session.
  public var headerFields: HTTPFields {
    get { ownFields ?? request?.headerFields ?? [:] }
    set { ownFields = newValue }
  }
  /// The serializer that writes the parameters. Default: nil, which means that of the session.
  public var serializer: (any RequestSerializer)?
  /// The options of this call. Those that are not set here are the session's.
  public var options: HTTPTaskOptions {
    get { ownOptions ?? HTTPTaskOptions() }
    set { ownOptions = newValue }
  }

  /// The request that the call was made of, which is sent as it is, but for what was set since. Nil for a call with a path.
  let request: HTTPRequest?
  private(set) var ownMethod: HTTPRequest.Method?
  private(set) var ownPath: String?
  private(set) var ownFields: HTTPFields?
  private(set) var ownOptions: HTTPTaskOptions?

  /// - Parameters:
  ///   - method: The method. Nil means POST if there is a body, and GET otherwise.
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the serializer writes. Default: nil.
  ///   - body: The body. Default: nil, which leaves it to the serializer.
  ///   - headerFields: The header fields of this call. Default: none.
  ///   - serializer: The serializer that writes the parameters. Default: nil, which means that of the session.
  ///   - options: The options of this call. Those that are not set are the session's.
  public init(
    _ method: HTTPRequest.Method?, _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil,
    headerFields: HTTPFields = [:], serializer: (any RequestSerializer)? = nil,
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) {
    request = nil
    ownMethod = method
    ownPath = path
    self.parameters = parameters
    self.body = body
    ownFields = headerFields
    self.serializer = serializer
    ownOptions = options
  }

  /// A call of a whole request, or of one without an authority, whose path is relative to the base URL of the session.
  public init(_ request: HTTPRequest) {
    if request.authority == nil {
      self.init(request.method, request.path ?? "", headerFields: request.headerFields)
    } else {
      self.init(whole: request)
    }
  }

  private init(whole: HTTPRequest) { request = whole }

  public func makeCall() -> HTTPCall { self }
}

extension HTTPCall: CustomStringConvertible {
  /// One line with the method and the place, without the query, the header fields and the body: `POST users`.
  public var description: String {
    if let request, ownPath == nil {
      var named = request
      if let ownMethod { named.method = ownMethod }
      return named.title
    }
    let method = method ?? (body == nil ? .get : .post)
    return "\(method.rawValue) \(HTTPRequest.publicPart(of: path))"
  }
}
