import FoundationEssentials
import HTTPTypes

extension HTTPSessionManager {
  /// Makes a call, and what its response serializer makes of the answer.
  ///
  /// - Throws: also what the serializers do: before anything is sent, or when all has come.
  public func send<Serializer: ResponseSerializer>(
    _ call: HTTPCall, as serializer: Serializer
  ) async throws(HTTPError) -> HTTPReply<Serializer.Value> {
    let (request, body) = try prepare(call)
    return try await reply(request, body, call.options, own: call.headerFields) { reply throws(HTTPError) in
      try reply.serialized(by: serializer)
    }
  }

  /// Makes a call, and begins it. What can not be serialized begins nothing.
  ///
  /// - Parameters:
  ///   - call: what to ask for, and how.
  ///   - serializer: makes a value of the response.
  ///   - completion: Called once by the options' executor, not within this call, but possibly on another thread before this
  ///     call returns. See ``HTTPExecutor``.
  /// - Returns: nil where nothing was begun.
  @discardableResult
  public func send<Serializer: ResponseSerializer>(
    _ call: HTTPCall, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    do throws(HTTPError) {
      let (request, body) = try prepare(call)
      return task(
        request, body, call.options, own: call.headerFields, isSuspended: false, decodes: true,
        { reply throws(HTTPError) in try reply.serialized(by: serializer) }, completion)
    } catch {
      let failure = error
      let callbacks = CallbackQueue(call.options ?? configuration.taskOptions)
      Task { callbacks.append { completion(.failure(failure)) } }
      return nil
    }
  }

  private func prepare(_ call: HTTPCall) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    let request = HTTPRequest(
      method: call.method, scheme: nil, authority: nil, path: nil, headerFields: call.headerFields)
    return try (call.serializer ?? configuration.requestSerializer)
      .serialize(request, url: url(for: call.path), parameters: call.parameters)
  }
}

/// Each verb relative to the session's base: awaited, with JSON that becomes a value of your own, or with a serializer.
extension HTTPSessionManager {
  public func get<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(HTTPCall(.get, path, parameters: parameters, headerFields: headerFields))
  }

  public func post<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(HTTPCall(.post, path, parameters: parameters, headerFields: headerFields))
  }

  public func put<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(HTTPCall(.put, path, parameters: parameters, headerFields: headerFields))
  }

  public func patch<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(HTTPCall(.patch, path, parameters: parameters, headerFields: headerFields))
  }

  public func delete<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(HTTPCall(.delete, path, parameters: parameters, headerFields: headerFields))
  }

  /// There is no body to make anything of.
  public func head(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> HTTPResponse {
    let call = HTTPCall(.head, path, parameters: parameters, headerFields: headerFields)
    return try await send(call, as: HTTPResponseSerializer()).response
  }

  /// A form with files, sent as it is read.
  public func post<Value: Decodable & Sendable>(
    _ path: String, form: MultipartFormData, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:]
  ) async throws(HTTPError) -> Value {
    try await value(
      HTTPCall(
        .post, path, parameters: parameters, headerFields: headerFields,
        serializer: MultipartRequestSerializer(base: configuration.requestSerializer, form: form)))
  }

  private func value<Value: Decodable & Sendable>(_ call: HTTPCall) async throws(HTTPError) -> Value {
    try await send(call, as: DecodableResponseSerializer(Value.self)).value
  }
}

extension HTTPReply<ReceivedBody> {
  func serialized<Serializer: ResponseSerializer>(
    by serializer: Serializer
  ) throws(HTTPError) -> HTTPReply<Serializer.Value> {
    with(try serializer.serialize(response, body: value.data, request: request))
  }
}
