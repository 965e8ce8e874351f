import HTTPTypes

/// A request with all that it takes from its session. It never changes: redirects, challenges and retries belong to its
/// ``Transfer``.
final class RequestPlan: Sendable {
  /// Makes the destination of the body. It gets a closure that continues the transfer after a pause.
  typealias MakeSink = @Sendable (_ goOn: @escaping @Sendable () -> Void) -> any BodySink

  let request: HTTPRequest
  let body: HTTPBody?
  let options: HTTPTaskOptions
  /// The fields that the caller has given for this request only.
  let own: HTTPFields
  let kind: HTTPTaskInfo.Kind
  /// The origins to which redirects may take the session's credentials.
  let scope: CredentialScope
  /// The reason why nothing can be sent; nil if there is none. The request is otherwise empty.
  let refusal: HTTPError?

  init(
    _ request: HTTPRequest, _ body: HTTPBody?, _ options: HTTPTaskOptions, own: HTTPFields, _ kind: HTTPTaskInfo.Kind,
    _ scope: CredentialScope, refusal: HTTPError? = nil
  ) {
    self.request = request
    self.body = body
    self.options = options
    self.own = own
    self.kind = kind
    self.scope = scope
    self.refusal = refusal
  }

  /// Returns the same plan with another request or other options.
  func with(_ request: HTTPRequest? = nil, options: HTTPTaskOptions? = nil) -> RequestPlan {
    RequestPlan(
      request ?? self.request, body, options ?? self.options, own: own, kind, scope, refusal: refusal)
  }
}
