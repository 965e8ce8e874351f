import HTTPTypes

extension HTTPSessionManager {
  /// Returns a request as a curl command, with the header fields, the user agent, the cookies and the credential that the session
  /// adds, but without the changes of interceptors. Nothing is sent. See
  /// `HTTPRequest.cURLDescription(body:credential:cookies:redacting:)`.
  ///
  /// - Parameters:
  ///   - request: The request: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: The body. Default: nil, the body of `request`, if it has one.
  ///   - options: The options of the task. Options that are not set come from the session.
  ///   - redacting: The header fields whose values are hidden. Default: `Authorization`, `Proxy-Authorization` and `Cookie`.
  /// - Throws: The error that the request would fail with before anything is sent.
  public func cURLDescription(
    of request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    redacting: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
  ) async throws(HTTPError) -> String {
    let plan = plan(request, body, options)
    if let refusal = plan.refusal { throw refusal }
    var request = plan.request
    if let agent = configuration.userAgent, !request.headerFields.contains(.userAgent) {
      request.headerFields[.userAgent] = agent
    }
    return request.cURLDescription(
      body: plan.body, credential: plan.options.credential, cookies: await cookies(), redacting: redacting)
  }
}
