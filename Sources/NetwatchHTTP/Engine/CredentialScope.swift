import FoundationEssentials
import HTTPTypes

/// Where the credentials that a session was given may go: to the origin of its base URL, and to those that its caller names.
final class CredentialScope: Sendable {
  /// What a server or a proxy alone may see.
  static let fields: [HTTPField.Name] = [.authorization, .proxyAuthorization, .cookie]

  /// Of the session's tasks; nil if there is none.
  let credential: HTTPCredential?
  /// Nil: each task's own.
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

  /// Whether it goes to one of the origins.
  func covers(_ request: HTTPRequest) -> Bool {
    guard let origin = Origin(request) else { return false }
    return origin == base || named.contains(origin)
  }

  /// Takes the session's credentials out of a call that goes elsewhere. What its caller has given for it alone stays.
  func confine(_ call: inout PreparedCall) {
    confine(&call.request, own: call.own)
    guard base != nil, let credential = call.options.credential, credential == self.credential, !covers(call.request)
    else { return }
    call.options.credential = nil
  }

  /// Takes the session's credentials out of the fields of a request that goes elsewhere.
  ///
  /// - Parameter own: The fields that the caller has given for this request alone, which stay.
  func confine(_ request: inout HTTPRequest, own: HTTPFields) {
    guard base != nil, !request.headerFields.isEmpty else { return }
    let given = Self.fields.filter { request.headerFields.contains($0) && !own.contains($0) }
    guard !given.isEmpty, !covers(request) else { return }
    for name in given { request.headerFields[name] = nil }
  }

  /// Whether the credentials in a request may follow a redirect to another origin. The caller's own may not.
  func covers(_ next: HTTPRequest, own: HTTPFields) -> Bool {
    covers(next) && !Self.fields.contains { own.contains($0) }
  }
}
