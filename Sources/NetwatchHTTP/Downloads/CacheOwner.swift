import HTTPTypes

/// The owner of a cached value: a session, and the credentials of its requests.
struct CacheOwner: Hashable, Sendable {
  private let session: UInt64
  private let credential: HTTPCredential?
  /// Nobody else's: what a callback answers to challenges is not known.
  private let callback: UInt64?
  private let handlesCookies: Bool

  init(_ session: HTTPSessionManager, _ options: HTTPTaskOptions) {
    self.session = session.identity
    credential = options.credential
    callback = options.onChallenge == nil ? nil : .random(in: 0...UInt64.max)
    handlesCookies = session.configuration.handlesCookies
  }

  /// Whether nobody else may have a response: it is private, or credentials or fields that another one would not send may
  /// have made it what it is.
  ///
  /// - Parameter request: as it was sent.
  func isAlone(with response: HTTPResponse, to request: HTTPRequest) -> Bool {
    let control = CacheControl(response.headerFields[.cacheControl] ?? "")
    if control.isPrivate || response.headerFields.contains(.vary) { return true }
    if control.isPublic { return false }
    return credential != nil || callback != nil || handlesCookies
      || CredentialScope.fields.contains { request.headerFields.contains($0) }
  }
}
