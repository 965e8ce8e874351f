import FoundationEssentials
import HTTPTypes

/// The origins to which the credentials of a session may be sent: that of its base URL, and those that its caller names.
final class CredentialScope: Sendable {
  /// The fields with credentials, which only the server or the proxy may get.
  static let fields: [HTTPField.Name] = [.authorization, .proxyAuthorization, .cookie]

  /// The credential of the session's tasks; nil if there is none.
  let credential: HTTPCredential?
  /// The origin of the base URL. Nil: each task's own origin.
  private let base: Origin?
  private let named: Set<Origin>

  init(_ base: URL?, _ configuration: HTTPSessionConfiguration) throws(HTTPError) {
    credential = configuration.taskOptions.credential
    self.base = try base.map { url throws(HTTPError) in try Self.origin(of: url) } ?? nil
    var named: Set<Origin> = []
    for url in configuration.credentialOrigins {
      if let origin = try Self.origin(of: url) { named.insert(origin) }
    }
    self.named = named
  }

  private static func origin(of url: URL) throws(HTTPError) -> Origin? { Origin(try HTTPRequest(.get, to: url)) }

  /// Returns whether a request goes to one of the origins.
  func covers(_ request: HTTPRequest) -> Bool {
    guard let origin = Origin(request) else { return false }
    return origin == base || named.contains(origin)
  }

  /// Removes the session's credentials from a request to another origin and its options. Credentials that the caller has given
  /// for this request stay.
  ///
  /// - Parameter own: The fields that the caller has given for this request only.
  func confine(_ request: inout HTTPRequest, _ options: inout HTTPTaskOptions, own: HTTPFields) {
    guard base != nil else { return }
    confine(&request, own: own)
    guard let credential = options.credential, credential == self.credential, !covers(request) else { return }
    options.credential = nil
  }

  /// Removes the session's credentials from the fields of a request to another origin.
  ///
  /// - Parameter own: The fields that the caller has given for this request only, which stay.
  func confine(_ request: inout HTTPRequest, own: HTTPFields) {
    guard base != nil, !request.headerFields.isEmpty else { return }
    let given = Self.fields.filter { request.headerFields.contains($0) && !own.contains($0) }
    guard !given.isEmpty, !covers(request) else { return }
    for name in given { request.headerFields[name] = nil }
  }

  /// Returns whether the credentials in a request may follow a redirect to another origin. The caller's own credentials may
  /// not.
  func covers(_ next: HTTPRequest, own: HTTPFields) -> Bool {
    covers(next) && !Self.fields.contains { own.contains($0) }
  }
}
