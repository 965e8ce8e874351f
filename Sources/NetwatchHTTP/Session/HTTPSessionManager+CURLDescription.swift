import HTTPTypes

extension HTTPSessionManager {
  /// A request as a command of curl, with what the session adds to it: header fields, its user agent, its cookies and credential.
  /// Nothing is sent. See ``HTTPTypes/HTTPRequest/cURLDescription(body:credential:cookies:redacting:)``.
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
    let order = order(request, body, options ?? configuration.taskOptions, completion: .atOnce { _ in })
    _ = order.complete(.failure(HTTPError(.cancelled, "describe")), nil)
    var request = order.request
    if let agent = configuration.userAgent, !request.headerFields.contains(.userAgent) {
      request.headerFields[.userAgent] = agent
    }
    return request.cURLDescription(
      body: body, credential: order.options.credential, cookies: await cookies(), redacting: redacting)
  }
}
