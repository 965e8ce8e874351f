import FoundationEssentials
import HTTPTypes

/// A request with all that it takes from its session. It never changes: redirects, challenges and retries belong to its
/// ``Transfer``.
final class RequestPlan: Sendable {
  /// Makes the destination of the body. It gets a closure that continues the transfer after a pause.
  typealias MakeSink = @Sendable (_ resume: @escaping @Sendable () -> Void) -> any BodySink

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

/// The requests of one task: the first one, and those that follow from the responses. Decides what follows each response.
///
/// Redirects are followed as RFC 9110 requires. A credential that the caller has given for a challenge is kept with its origin,
/// and sent to no other one.
struct RequestChain {
  /// What follows a response.
  enum Step {
    /// The response is that of the task.
    case accept
    case follow(HTTPRequest)
    /// Ask the caller for the next request. If it is nil, the response is that of the task.
    case askRedirect(@Sendable () async -> HTTPRequest?)
    case askChallenge(@Sendable () async -> Result<HTTPCredential?, HTTPError>)
  }

  private static let host = HTTPField.Name("Host")
  private static let idempotent: [HTTPRequest.Method] = [.get, .head, .put, .delete, .options, .trace]

  private let plan: RequestPlan
  private(set) var request: HTTPRequest {
    didSet { allowsRepetition = Self.allowsRepetition(request, plan.options) }
  }
  private(set) var body: HTTPBody?
  /// Whether the request may be sent twice: its method allows that (RFC 9110, section 9.2.2), or the caller does.
  private(set) var allowsRepetition: Bool
  private(set) var redirects = 0
  /// The credentials that the caller has given for challenges.
  private var answers: [Origin: (credential: HTTPCredential, count: Int)] = [:]

  init(_ plan: RequestPlan) {
    self.plan = plan
    request = plan.request
    body = plan.body
    allowsRepetition = Self.allowsRepetition(plan.request, plan.options)
  }

  private static func allowsRepetition(_ request: HTTPRequest, _ options: HTTPTaskOptions) -> Bool {
    options.allowsRepetition || idempotent.contains(request.method)
  }

  /// The credential for the request's origin; nil if there is none.
  var credential: HTTPCredential? {
    let own = plan.options.credential
    if own == nil, answers.isEmpty { return nil }
    if let origin = Origin(request), let answer = answers[origin] { return answer.credential }
    if plan.request.isSameOrigin(as: request) { return own }
    return own == plan.scope.credential && plan.scope.covers(request) ? own : nil
  }

  // MARK: Answers

  /// Decides what follows a response.
  ///
  /// - Parameter allows: Returns whether the security policy allows a request.
  /// - Throws: The error that the task fails with.
  func step(after head: ResponseHead, allows: (HTTPRequest) -> Bool) throws(HTTPError) -> Step {
    let (options, response) = (plan.options, head.response)
    if [301, 302, 303, 307, 308].contains(head.code), options.maximumRedirects > 0,
      // A redirect to nowhere is the response.
      let location = response.headerFields.single(.location)
    {
      guard let next = next(to: location, after: response), allows(next) else {
        var failure = HTTPError(.badURL, "redirect", message: HTTPRequest.publicPart(of: location.value))
        failure.response = response
        throw failure
      }
      guard redirects < options.maximumRedirects else {
        throw HTTPError(.tooManyRedirects, "redirect", message: "more than \(options.maximumRedirects)")
      }
      guard let ask = options.onRedirect else { return .follow(next) }
      let redirect = HTTPRedirect(request: request, response: response, next: next, count: redirects)
      return .askRedirect { await ask(redirect).map { Self.changed(next, to: $0) } }
    }
    if head.code == HTTPResponse.Status.unauthorized.code, let ask = options.onChallenge,
      refusals < options.maximumChallenges
    {
      let challenge = HTTPChallenge(request: request, response: response, failures: refusals)
      return .askChallenge {
        do {
          return .success(try await ask(challenge))
        } catch {
          let failure = error as? HTTPError
          return .failure(
            failure ?? HTTPError(.notAuthenticated, "answer a challenge", message: "\(error)", underlying: error))
        }
      }
    }
    return .accept
  }

  /// Returns the chain after a redirect.
  func following(_ next: HTTPRequest) -> RequestChain {
    var chain = self
    if next.method != request.method { chain.body = nil }
    chain.redirects += 1
    chain.request = next
    return chain
  }

  /// Returns the chain from its beginning, with a request instead of the task's own.
  func restarted(with first: HTTPRequest) -> RequestChain {
    var chain = self
    chain.request = first
    chain.body = plan.body
    chain.redirects = 0
    return chain
  }

  /// Returns the chain with the same request and another credential.
  func answering(with credential: HTTPCredential) -> RequestChain {
    guard let origin = Origin(request) else { return self }
    var chain = self
    chain.answers[origin] = (credential, refusals + 1)
    return chain
  }

  /// The number of credentials that the request's origin has refused.
  private var refusals: Int { Origin(request).flatMap { answers[$0]?.count } ?? 0 }

  // MARK: Redirects

  /// Returns the request after a redirect. Nil if the location cannot be requested.
  private func next(to location: HTTPField, after response: HTTPResponse) -> HTTPRequest? {
    let reference = unsafe location.withUnsafeBytesOfValue { unsafe Array($0) }
    guard let base = request.urlText.flatMap({ URL(reference: $0.utf8) }),
      let url = URL(reference: reference, relativeTo: base)?.absoluteURL,
      var next = try? HTTPRequest(Self.method(after: response.status, request.method), to: url)
    else { return nil }
    // A redirect without a fragment inherits that of the request (RFC 9110, section 10.2.2).
    if next.path?.contains("#") == false, let path = request.path, let start = path.firstIndex(of: "#") {
      next.path = (next.path ?? "") + path[start...]
    }
    next.headerFields = request.headerFields
    if next.method != request.method {
      for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding] { next.headerFields[name] = nil }
    }
    if !request.isSameOrigin(as: next) {
      if let host = Self.host { next.headerFields[host] = nil }
      if !plan.scope.covers(next, own: plan.own) {
        for name in CredentialScope.fields { next.headerFields[name] = nil }
      }
    }
    return next
  }

  /// Returns the request that a caller wants instead of `next`. If it goes to another origin, credentials that were meant for
  /// the first origin are removed. Credentials that the caller has added are sent.
  private static func changed(_ next: HTTPRequest, to wanted: HTTPRequest) -> HTTPRequest {
    guard !next.isSameOrigin(as: wanted) else { return wanted }
    var request = wanted
    for name in CredentialScope.fields where request.headerFields[values: name] == next.headerFields[values: name] {
      request.headerFields[name] = nil
    }
    return request
  }

  /// Returns the method after a redirect. 301 and 302 turn a POST into a GET, as in every browser; 303 turns all methods but
  /// HEAD into GET.
  private static func method(after status: HTTPResponse.Status, _ method: HTTPRequest.Method) -> HTTPRequest.Method {
    switch status.code {
    case 301, 302: method == .post ? .get : method
    case 303: method == .head ? .head : .get
    default: method
    }
  }
}

extension ResponseHead {
  /// Whether another request may follow: to another URL, or with a credential.
  var canTriggerFollowUp: Bool { 300..<400 ~= code || code == HTTPResponse.Status.unauthorized.code }
}

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
