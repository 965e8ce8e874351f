import HTTPTypes

/// The owner of a cached value: a session, and the credentials of its requests.
struct CacheOwner: Hashable, Sendable {
  private let session: UInt64
  private let credential: HTTPCredential?
  /// A random number, so that the owner equals no other: it is not known what a callback answers to challenges, or what the
  /// interceptors of a downloader add.
  private let callback: UInt64?
  /// Whether the session may send what another session would not: cookies, fields, a client certificate, or what interceptors add.
  private let mayAdd: Bool
  /// Whether a URL may mean another server than in other sessions.
  private let isElsewhere: Bool

  init(_ session: HTTPSessionManager, _ options: HTTPTaskOptions) {
    self.session = session.identity
    credential = options.credential
    callback = options.onChallenge == nil && options.interceptors.isEmpty ? nil : .random(in: 0...UInt64.max)
    let settings = session.configuration
    mayAdd =
      settings.sendsCookies || !settings.interceptors.isEmpty || !settings.headerFields.isEmpty
      || !settings.clientCertificates.isEmpty
    isElsewhere = settings.transport != nil || settings.unixSocketPath != nil || !settings.addressOverrides.isEmpty
  }

  /// Returns whether only this owner may get a response. That is so if the response is private, or if it may depend on
  /// credentials or fields that another owner would not send.
  ///
  /// - Parameter request: The request, without the changes of interceptors.
  func isAlone(with response: HTTPResponse, to request: HTTPRequest) -> Bool {
    let control = CacheControl(response.headerFields[.cacheControl] ?? "")
    if isElsewhere || control.isPrivate || response.headerFields.contains(.vary) { return true }
    if control.isPublic { return false }
    return credential != nil || callback != nil || mayAdd
      || CredentialScope.fields.contains { request.headerFields.contains($0) }
  }
}
