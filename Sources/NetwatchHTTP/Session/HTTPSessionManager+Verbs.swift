import FoundationEssentials
import HTTPTypes

/// The verbs of HTTP, awaited: the body of the response becomes a value of a type of your own.
///
/// ```swift
/// let user: User = try await api.get("users/1")
/// let created: User = try await api.post("users", body: .json(user))
/// ```
///
/// The type that you ask for may be an optional one: then an empty body is nil.
extension HTTPSessionManager {
  /// Makes a GET request, and waits for the value in its response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into the URL by default. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
  public func get<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.get, path, parameters: parameters, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Makes a POST request, and waits for the value in its response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
  public func post<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.post, path, parameters: parameters, body: body, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Makes a PUT request, and waits for the value in its response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
  public func put<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.put, path, parameters: parameters, body: body, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Makes a PATCH request, and waits for the value in its response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
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

  /// Makes a DELETE request, and waits for the value in its response.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into the URL by default. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - type: The type of the value.
  ///   - decoder: Reads the response. Default: nil, which means that of the session.
  public func delete<Value: Decodable & Sendable>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as type: Value.Type = Value.self, decoder: (any DataDecoder)? = nil
  ) async throws(HTTPError) -> Value {
    try await send(
      HTTPCall(.delete, path, parameters: parameters, headerFields: headerFields, options: options), as: type,
      decoder: decoder
    ).value
  }

  /// Makes a HEAD request, and waits for its response, which has no body.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  public func head(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) async throws(HTTPError) -> HTTPResponse {
    let call = HTTPCall(.head, path, parameters: parameters, headerFields: headerFields, options: options)
    return try await send(call, as: HTTPResponseSerializer()).response
  }
}
