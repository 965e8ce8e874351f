import FoundationEssentials
import HTTPTypes

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
