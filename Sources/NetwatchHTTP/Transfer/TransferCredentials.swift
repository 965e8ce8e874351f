import HTTPTypes

/// The credentials of one task: each is kept with the origin that it is for, and goes to no other one.
struct TransferCredentials {
  /// What the caller has answered to challenges.
  private var answers: [Origin: (credential: HTTPCredential, count: Int)] = [:]

  /// What the origin of a request is to be sent; nil for nothing.
  func credential(for request: HTTPRequest, of order: TransferOrder) -> HTTPCredential? {
    let own = order.options.credential
    if own == nil, answers.isEmpty { return nil }
    if let origin = Origin(request), let answer = answers[origin] { return answer.credential }
    if order.request.isSameOrigin(as: request) { return own }
    return own == order.scope.credential && order.scope.covers(request) ? own : nil
  }

  /// How many answers the origin of a request was given, all of which it has refused.
  func refusals(by request: HTTPRequest) -> Int { Origin(request).flatMap { answers[$0]?.count } ?? 0 }

  mutating func answer(_ request: HTTPRequest, with credential: HTTPCredential) {
    guard let origin = Origin(request) else { return }
    answers[origin] = (credential, refusals(by: request) + 1)
  }
}
