import HTTPTypes

extension HTTPSessionManager {
  /// A request as a command of curl, with what the session adds to it: header fields, its user agent, its cookies and credential.
  /// Nothing is sent. See `HTTPRequest.cURLDescription(body:credential:cookies:redacting:)`.
  ///
  /// - Parameters:
  ///   - request: what would be asked for.
  ///   - body: what would be sent with it. Default nil.
  ///   - options: those of its task. Default nil: the session's.
  ///   - redacting: the fields whose values are not shown. Default: `Authorization`, `Proxy-Authorization` and `Cookie`.
  public func cURLDescription(
    of request: HTTPRequest, body: HTTPBody? = nil, options: HTTPTaskOptions? = nil,
    redacting: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
  ) async -> String {
    let own = request.headerFields
    var (request, credential) = (request, (options ?? configuration.taskOptions).credential)
    for field in configuration.headerFields where !own.contains(field.name) { request.headerFields.append(field) }
    // The session could not have been made with origins that are none.
    (try? CredentialScope(baseURL, configuration))?.confine(&request, &credential, own: own)
    if let agent = configuration.userAgent, !request.headerFields.contains(.userAgent) {
      request.headerFields[.userAgent] = agent
    }
    return request.cURLDescription(body: body, credential: credential, cookies: await cookies(), redacting: redacting)
  }
}
