import HTTPTypes

extension HTTPSessionManager {
  /// A request as a command of curl, with what the session adds to it: header fields, its user agent, its cookies and its
  /// credential. Nothing is sent. See `HTTPRequest.cURLDescription(body:credential:cookies:redacting:)`.
  ///
  /// - Parameters:
  ///   - request: What would be asked for: a path relative to the base URL, a URL, an `HTTPRequest` or an ``HTTPCall``.
  ///   - body: What would be sent with it. Default: nil, which leaves it to the request.
  ///   - options: The options of its task. Those that are not set are the session's.
  ///   - redacting: The fields whose values are not shown. Default: `Authorization`, `Proxy-Authorization` and `Cookie`.
  /// - Throws: The reason why there is nothing to send.
  public func cURLDescription(
    of request: some RequestConvertible, body: HTTPBody? = nil, options: HTTPTaskOptions = HTTPTaskOptions(),
    redacting: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
  ) async throws(HTTPError) -> String {
    var call = prepare(request, body, options)
    if let refusal = call.refusal { throw refusal }
    complete(&call)
    if let agent = configuration.userAgent, !call.request.headerFields.contains(.userAgent) {
      call.request.headerFields[.userAgent] = agent
    }
    return call.request.cURLDescription(
      body: call.body, credential: call.options.credential, cookies: await cookies(), redacting: redacting)
  }
}
