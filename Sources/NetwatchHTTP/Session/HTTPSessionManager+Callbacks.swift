import FoundationEssentials
import HTTPTypes

/// Requests by HTTP method, each with a completion. The returned task is running.
extension HTTPSessionManager {
  /// Begins a GET request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func get<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.get, path, parameters: parameters, headerFields: headerFields, options: options),
      as: serializer, completion: completion)
  }

  /// Begins a POST request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func post<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.post, path, parameters: parameters, body: body, headerFields: headerFields, options: options),
      as: serializer, completion: completion)
  }

  /// Begins a PUT request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func put<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.put, path, parameters: parameters, body: body, headerFields: headerFields, options: options),
      as: serializer, completion: completion)
  }

  /// Begins a PATCH request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into a body. If there is a `body`,
  ///     a new ``URLEncodedFormEncoder`` writes them into the URL. Default: nil.
  ///   - body: The body, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func patch<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.patch, path, parameters: parameters, body: body, headerFields: headerFields, options: options),
      as: serializer, completion: completion)
  }

  /// Begins a DELETE request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes, by default into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - serializer: Checks the response, and makes a value from its body.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func delete<Serializer: ResponseSerializer>(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(), as serializer: Serializer,
    completion: @escaping @Sendable (Result<HTTPReply<Serializer.Value>, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.delete, path, parameters: parameters, headerFields: headerFields, options: options),
      as: serializer, completion: completion)
  }

  /// Begins a HEAD request, whose response has no body.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the session's request serializer writes into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They take precedence over those of the session. Default: none.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - completion: Called once by the executor of the options.
  /// - Returns: The task, which is running.
  @discardableResult
  public func head(
    _ path: String, parameters: StructuredValue? = nil, headerFields: HTTPFields = [:],
    options: HTTPTaskOptions = HTTPTaskOptions(),
    completion: @escaping @Sendable (Result<HTTPResponse, HTTPError>) -> Void
  ) -> HTTPTask {
    send(
      HTTPCall(.head, path, parameters: parameters, headerFields: headerFields, options: options),
      as: HTTPResponseSerializer(), completion: { completion($0.map(\.response)) })
  }
}
