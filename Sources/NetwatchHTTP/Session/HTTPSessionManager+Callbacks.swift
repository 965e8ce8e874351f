import FoundationEssentials
import HTTPTypes

/// Each verb with a callback. The task has begun when it is returned; it is nil where nothing could be sent.
extension HTTPSessionManager {
  @discardableResult
  public func get<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.get, path, parameters: parameters, headerFields: headerFields, options: options), as: serializer,
      completion: completion)
  }

  @discardableResult
  public func post<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.post, path, parameters: parameters, headerFields: headerFields, options: options), as: serializer,
      completion: completion)
  }

  @discardableResult
  public func put<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.put, path, parameters: parameters, headerFields: headerFields, options: options), as: serializer,
      completion: completion)
  }

  @discardableResult
  public func patch<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.patch, path, parameters: parameters, headerFields: headerFields, options: options), as: serializer,
      completion: completion)
  }

  @discardableResult
  public func delete<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.delete, path, parameters: parameters, headerFields: headerFields, options: options), as: serializer,
      completion: completion)
  }

  /// There is no body to make anything of.
  @discardableResult
  public func head(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions? = nil, completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
  ) -> HTTPTask? {
    send(
      HTTPCall(.head, path, parameters: parameters, headerFields: headerFields, options: options),
      as: HTTPResponseSerializer(), completion: { completion($0.map(\.response)) })
  }
}
