import FoundationEssentials
import HTTPTypes

/// The requests of one task: the first one, and those that its servers' answers lead to. Decides on each answer.
///
/// Redirects are followed by RFC 9110. What a caller has answered to a challenge is kept with the origin that it is for, and goes
/// to no other one.
struct RequestChain {
  /// What is done about an answer.
  enum Step {
    /// It is the task's.
    case accept
    case follow(HTTPRequest)
    /// Ask the caller for the request that is sent next; nil for none.
    case askRedirect(@Sendable () async -> HTTPRequest?)
    case askChallenge(@Sendable () async -> HTTPCredential?)
  }

  private static let host = HTTPField.Name("Host")
  private static let idempotent: [HTTPRequest.Method] = [.get, .head, .put, .delete, .options, .trace]

  let order: TransferOrder
  private(set) var shared: SharedRequest
  private(set) var body: HTTPBody?
  /// Whether the request may be sent twice: RFC 9110, section 9.2.2, or the caller's word.
  private(set) var allowsRepetition = false
  /// What the request's origin is to be sent; nil for nothing.
  private(set) var credential: HTTPCredential?
  private(set) var redirects = 0
  /// What the caller has answered to challenges.
  private var answers: [Origin: (credential: HTTPCredential, count: Int)] = [:]

  init(_ order: TransferOrder) {
    self.order = order
    shared = order.shared
    body = order.body
    update()
  }

  private(set) var request: HTTPRequest {
    get { shared.value }
    set { shared = SharedRequest(newValue) }
  }

  /// To be called whenever the request or the answers have changed.
  private mutating func update() {
    allowsRepetition = order.options.allowsRepetition || Self.idempotent.contains(request.method)
    let own = order.options.credential
    credential = own == nil && answers.isEmpty ? nil : credential(own)
  }

  private func credential(_ own: HTTPCredential?) -> HTTPCredential? {
    if let origin = Origin(request), let answer = answers[origin] { return answer.credential }
    if order.request.isSameOrigin(as: request) { return own }
    return own == order.scope.credential && order.scope.covers(request) ? own : nil
  }

  // MARK: Answers

  /// - Parameter allows: Whether the security policy lets a request go to its place.
  /// - Throws: what fails the task.
  func step(after head: ResponseHead, allows: (HTTPRequest) -> Bool) throws(HTTPError) -> Step {
    let (options, response) = (order.options, head.response)
    if [301, 302, 303, 307, 308].contains(head.code), options.maximumRedirects > 0,
      let location = response.headerFields[.location]
    {
      guard let next = next(to: location, after: response), allows(next) else {
        var failure = HTTPError(.badURL, "redirect", message: location)
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
      return .askChallenge { await ask(challenge) }
    }
    return .accept
  }

  mutating func follow(_ next: HTTPRequest) {
    if next.method != request.method { body = nil }
    redirects += 1
    request = next
    update()
  }

  /// The chain begins anew, with a request in the place of the task's.
  mutating func restart(_ first: HTTPRequest) {
    request = first
    body = order.body
    redirects = 0
    update()
  }

  /// The same request is sent with another credential.
  mutating func answer(with credential: HTTPCredential) {
    guard let origin = Origin(request) else { return }
    answers[origin] = (credential, refusals + 1)
    update()
  }

  /// How many credentials of the caller's the request's origin has refused.
  private var refusals: Int { Origin(request).flatMap { answers[$0]?.count } ?? 0 }

  // MARK: Redirects

  /// Nil if there is no such place for a request.
  private func next(to location: String, after response: HTTPResponse) -> HTTPRequest? {
    guard let base = request.urlText.flatMap({ URL(string: $0) }),
      let url = URL(string: location, relativeTo: base)?.absoluteURL,
      var next = try? HTTPRequest(Self.method(after: response.status, request.method), to: url)
    else { return nil }
    next.headerFields = request.headerFields
    if next.method != request.method {
      for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding] { next.headerFields[name] = nil }
    }
    if !request.isSameOrigin(as: next) {
      if let host = Self.host { next.headerFields[host] = nil }
      if !order.scope.covers(next, own: order.own) {
        for name in CredentialScope.fields { next.headerFields[name] = nil }
      }
    }
    return next
  }

  /// What a caller wants in the place of `next`. If he sends it to another origin, it goes without the credentials that were
  /// for the first one; those that he has added are sent.
  private static func changed(_ next: HTTPRequest, to wanted: HTTPRequest) -> HTTPRequest {
    guard !next.isSameOrigin(as: wanted) else { return wanted }
    var request = wanted
    for name in CredentialScope.fields where request.headerFields[values: name] == next.headerFields[values: name] {
      request.headerFields[name] = nil
    }
    return request
  }

  /// 301 and 302 turn a POST into a GET, as every browser does; 303 all but HEAD.
  private static func method(after status: HTTPResponse.Status, _ method: HTTPRequest.Method) -> HTTPRequest.Method {
    switch status.code {
    case 301, 302: method == .post ? .get : method
    case 303: method == .head ? .head : .get
    default: method
    }
  }
}

extension ResponseHead {
  /// Whether another request may follow: to another place, or with a credential.
  var mayLeadOn: Bool { 300..<400 ~= code || code == HTTPResponse.Status.unauthorized.code }
}
