import FoundationEssentials
import HTTPTypes

/// A description of a request: its method and destination, its contents, and its options.
///
/// ```swift
/// let call = HTTPCall(.post, "users", body: try .json(user), options: .with { $0.timeout = .seconds(5) })
/// let created = try await api.send(call, as: User.self).value
/// ```
public struct HTTPCall: RequestConvertible {
  /// The HTTP method. Nil means POST if there is a body, and GET otherwise.
  public var method: HTTPRequest.Method?
  /// A path relative to the base URL of the session, or a whole URL.
  public var path: String
  /// The parameters, which the serializer writes into the URL or into a body. If the call has a body, a new
  /// ``URLEncodedFormEncoder`` writes them into the URL instead.
  /// Default: nil.
  public var parameters: StructuredValue?
  /// The body. Default: nil, which leaves the body to the serializer.
  public var body: HTTPBody?
  /// The header fields of this call. They take precedence over those of the serializer and of the session. Default: none.
  public var headerFields: HTTPFields
  /// The serializer that writes the parameters. Default: nil, the ``HTTPSessionConfiguration/requestSerializer`` of the
  /// session.
  public var serializer: (any RequestSerializer)?
  /// The options of this call. Options that are not set here come from the session.
  public var options: HTTPTaskOptions

  /// The request that the call was made from; nil for a call with a path.
  private let original: HTTPRequest?

  /// Creates a call from a method and a path.
  ///
  /// - Parameters:
  ///   - method: The HTTP method. Nil means POST if there is a body, and GET otherwise.
  ///   - path: A path relative to the base URL of the session, or a whole URL.
  ///   - parameters: The parameters that the serializer writes. Default: nil.
  ///   - body: The body. Default: nil, which leaves the body to the serializer.
  ///   - headerFields: The header fields of this call. Default: none.
  ///   - serializer: The serializer that writes the parameters. Default: nil, the serializer of the session.
  ///   - options: The options of this call. Options that are not set come from the session.
  public init(
    _ method: HTTPRequest.Method?, _ path: String, parameters: StructuredValue? = nil, body: HTTPBody? = nil,
    headerFields: HTTPFields = [:], serializer: (any RequestSerializer)? = nil,
    options: HTTPTaskOptions = HTTPTaskOptions()
  ) {
    original = nil
    self.method = method
    self.path = path
    self.parameters = parameters
    self.body = body
    self.headerFields = headerFields
    self.serializer = serializer
    self.options = options
  }

  /// Creates a call from an HTTP request. If the request has no authority, its path is relative to the base URL of the session.
  public init(_ request: HTTPRequest) {
    original = request.authority == nil ? nil : request
    method = request.method
    path = request.path ?? ""
    headerFields = request.headerFields
    options = HTTPTaskOptions()
  }

  /// The request that the call was made from, unchanged except for the properties that were set since. Nil for a call with a path.
  var whole: HTTPRequest? {
    guard var request = original else { return nil }
    if let method, method != request.method { request.method = method }
    if path != request.path ?? "" { request.path = path }
    request.headerFields = headerFields
    return request
  }

  /// Returns this call.
  public func makeCall() -> HTTPCall { self }
}

extension HTTPCall: CustomStringConvertible {
  /// The call in one line: the method and the path, without the query, the header fields and the body: `POST users`.
  public var description: String {
    if let whole, path == original?.path ?? "" { return whole.title }
    let method = method ?? (body == nil ? .get : .post)
    return "\(method.rawValue) \(HTTPRequest.publicPart(of: path))"
  }
}

/// A type that describes a request for a session: a string with a path or a URL, a `URL`, an `HTTPRequest`, an ``HTTPCall``, or
/// your own type.
///
/// ```swift
/// enum Route: RequestConvertible {
///   case user(Int)
///   case rename(Int, to: String)
///
///   func makeCall() throws(HTTPError) -> HTTPCall {
///     switch self {
///     case .user(let id): HTTPCall(.get, "users/\(id)")
///     case .rename(let id, let name): HTTPCall(.patch, "users/\(id)", body: try .json(["name": name]))
///     }
///   }
/// }
/// let user = try await api.send(Route.user(1), as: User.self).value
/// ```
public protocol RequestConvertible: Sendable {
  /// Returns the call. It runs on the thread of the caller, once for each task.
  ///
  /// - Throws: The error that the task fails with, in which case nothing is sent.
  func makeCall() throws(HTTPError) -> HTTPCall
}

/// A path relative to the base URL of the session, or a whole URL. The method is GET, or POST for a request with a body.
extension String: RequestConvertible {
  /// Returns the call that this value describes.
  public func makeCall() -> HTTPCall { HTTPCall(nil, self) }
}

/// A URL, which may be relative to the base URL of the session. The method is GET, or POST for a request with a body.
extension URL: RequestConvertible {
  /// Returns the call that this value describes.
  public func makeCall() -> HTTPCall { HTTPCall(nil, absoluteString) }
}

/// A request that is sent with its own method and URL. The session adds its header fields, but its serializer changes nothing. If
/// the request has no authority, its path is relative to the base URL of the session, and the serializer adds its fields.
extension HTTPRequest: RequestConvertible {
  /// Returns the call that this value describes.
  public func makeCall() -> HTTPCall { HTTPCall(self) }
}
