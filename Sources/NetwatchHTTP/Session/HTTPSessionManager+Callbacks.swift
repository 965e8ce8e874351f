import FoundationEssentials
import HTTPTypes

/// The verbs of HTTP with a callback. The task that is returned runs.
extension HTTPSessionManager {
  /// Begins a GET request.
  ///
  /// - Parameters:
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: What the session's request serializer writes. They go into the URL by default. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once, by the options' executor.
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
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once, by the options' executor.
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
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once, by the options' executor.
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
  ///   - parameters: What the session's request serializer writes. They go into a body by default, or into the URL if there is a body already. Default: nil.
  ///   - body: What is sent, such as `.json(user)`, `.form(filter)` or `.multipart(form)`. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once, by the options' executor.
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
  ///   - parameters: What the session's request serializer writes. They go into the URL by default. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - serializer: Judges the response, and makes a value of its body.
  ///   - completion: Called once, by the options' executor.
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
  ///   - parameters: What the session's request serializer writes into the URL. Default: nil.
  ///   - headerFields: The header fields of this request. They win over those of the session.
  ///   - options: Those that are not set are the session's.
  ///   - completion: Called once, by the options' executor.
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
