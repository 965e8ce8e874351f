import FoundationEssentials
import HTTPTypes

/// Requests by HTTP method that you await. The body of the response becomes a value of your own type.
///
/// ```swift
/// let user: User = try await api.get("users/1")
/// let created: User = try await api.post("users", body: .json(user))
/// ```
///
/// The type can be optional: an empty body is then nil.
extension HTTPSessionManager {
  /// Sends a GET request, and returns the value that is decoded from the response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value. Default: inferred from the context.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func get<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.get, path, parameters: parameters, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Sends a POST request, and returns the value that is decoded from the response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value. Default: inferred from the context.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func post<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.post, path, parameters: parameters, body: body, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Sends a PUT request, and returns the value that is decoded from the response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value. Default: inferred from the context.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func put<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.put, path, parameters: parameters, body: body, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Sends a PATCH request, and returns the value that is decoded from the response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value. Default: inferred from the context.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func patch<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.patch, path, parameters: parameters, body: body, headerFields: headerFields, options: options),
      as: type,
      decoder: decoder
    ).value
  }

  /// Sends a DELETE request, and returns the value that is decoded from the response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - type: The type of the value. Default: inferred from the context.
  ///   - decoder: The decoder of the body. Default: nil, the ``HTTPSessionConfiguration/decoder`` of the session.
  /// - Throws: The error of the request or of the decoder.
  public func delete<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.delete, path, parameters: parameters, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Sends a HEAD request, and returns its response, which has no body.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  /// - Throws: The error of the request.
  public func head(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPResponse {
    let call = HTTPCall(.head, path, parameters: parameters, headerFields: headerFields, options: options)
    return try await send(call, as: HTTPResponseSerializer()).response
  }
}
