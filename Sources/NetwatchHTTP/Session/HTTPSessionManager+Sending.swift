import FoundationEssentials
import HTTPTypes

/// Any kind of request, with any serializer.
extension HTTPSessionManager {
  /// Sends a request, and returns the value that a serializer makes from the response.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  /// - Throws: The error of the request or of the serializer.
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer
  ) async throws(HTTPError) -> HTTPReply<Serializer.Value> {
    try await reply(to: plan(request, body, options)) { reply throws(HTTPError) in
      try reply.serialized(by: serializer)
    }
  }

  /// Sends a request, and decodes the response as a value of your own type.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func send<Value: Decodable & Sendable>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as type: Value.Type, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> HTTPReply<Value> {
    try await send(
      request, body: body, options: options,
      as: DecodableResponseSerializer(type, decoder: decoder ?? configuration.decoder))
  }

  /// Sends a request, and returns the value that the session's ``HTTPSessionConfiguration/responseSerializer`` makes from the
  /// response. By default, that is the body, of any content type, with a status from 200 to 299.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request or of the serializer.
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

  /// Begins a request whose response a serializer turns into a value.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest`, an ``HTTPCall``, or your own type.
  ///   - body: The body, such as `.json(user)`. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options. It is never called within this call, but possibly on another
  ///     thread before this call returns. See ``HTTPExecutor``.
  /// - Returns: The task, which is running.
  @discardableResult
  public func send<Serializer: ResponseSerializer>(
    _ request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    task(
      plan(request, body, options), isSuspended: false, decodes: true,
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
