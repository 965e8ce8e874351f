import FoundationEssentials
import HTTPTypes

/// Any request, with any serializer.
extension HTTPSessionManager {
  /// Sends a request, and waits for what the serializer makes of the response.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or a type of your
  ///     own.
  ///   - body: What is sent with it, such as `.json(user)`. Default: nil, which leaves it to the request.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  /// - Throws: What fails the request, or the serializer.
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer
  ) async throws(HTTPError) -> HTTPReply<Serializer.Value> {
    try await reply(to: prepare(request, body, options)) { reply throws(HTTPError) in
      try reply.serialized(by: serializer)
    }
  }

  /// Sends a request, and waits for a value of a type of your own.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or a type of your
  ///     own.
  ///   - body: What is sent with it, such as `.json(user)`. Default: nil, which leaves it to the request.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
  public func send<Value: Decodable & Sendable>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as type: Value.Type, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> HTTPReply<Value> {
    try await send(
      request, body: body, options: options,
      as: DecodableResponseSerializer(type, decoder: decoder ?? configuration.decoder))
  }

  /// Sends a request, and waits for what the session's serializer makes of the response. By default that is the body, of any
  /// type, with a status from 200 to 299.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or a type of your
  ///     own.
  ///   - body: What is sent with it, such as `.json(user)`. Default: nil, which leaves it to the request.
  ///   - options: Those that are not set are the session's.
  @discardableResult
  public func send(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPReply<any Sendable> {
    try await send(request, body: body, options: options, opened: configuration.responseSerializer)
  }

  private func send(
    _ request: some RequestConvertible, body: HTTPBody?, options: HTTPTaskOptions,
    opened serializer: some ResponseSerializer
  ) async throws(HTTPError) -> HTTPReply<any Sendable> {
    let reply = try await send(request, body: body, options: options, as: serializer)
    return reply.with(reply.value)
  }

  /// Begins a request, whose response a serializer makes a value of.
  ///
  /// - Parameters:
  ///   - request: What to ask for: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or a type of your
  ///     own.
  ///   - body: What is sent with it, such as `.json(user)`. Default: nil, which leaves it to the request.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once by the options' executor, not within this call, but possibly on another thread before this
  ///     call returns. See ``HTTPExecutor``.
  /// - Returns: The task, which runs.
  @discardableResult
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(
      prepare(request, body, options), isSuspended: false, decodes: true,
      { reply throws(HTTPError) in try reply.serialized(by: serializer) }, completion)
  }
}

extension HTTPReply<ReceivedBody> {
  func serialized<Serializer: ResponseSerializer>(
    by serializer: Serializer
  ) throws(HTTPError) -> HTTPReply<Serializer.Value> {
    try converted { reply throws(HTTPError) in
      try serializer.serialize(reply.response, body: reply.value.data, request: reply.request)
    }
  }
}
