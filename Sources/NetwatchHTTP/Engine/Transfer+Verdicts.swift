import HTTPTypes

/// The decision about the head of a response: it is that of the task, another request follows, or somebody is asked.
extension Transfer {
  static var noHead: HTTPError {
    HTTPError(.connectionLost, "response", message: "the server has sent no head")
  }

  /// Decides what follows the head of a response.
  ///
  /// - Returns: False if the attempt has to be broken off.
  func decide(on head: ResponseHead?) -> Bool {
    do throws(HTTPError) {
      guard let head else { throw Self.noHead }
      if engine.events.isObserved { tell(.received(head.response)) }
      if let exchange, replaces(exchange, head.response) {
        attempt.verdict = .replaced
        return true
      }
      exchange?.invalidate(by: head.response)
      let step = head.mayLeadOn ? try chain.step(after: head, allows: { curl.allows($0) }) : .accept
      switch step {
      case .accept: if head.code < 400 || !askAboutRetry(after: head) { try accept(head) }
      case .follow(let next):
        attempt.verdict = .skipped(next)
        if let exchange, head.codings.isEmpty { exchange.store(head.response) }
      case .askRedirect(let question): ask(question) { $0.answered(redirect: $1) }
      case .askChallenge(let question): ask(question) { $0.answered(credential: $1) }
      }
      return true
    } catch {
      failure = error
      return false
    }
  }

  func ask<Answer: Sendable>(
    _ question: @escaping @Sendable () async -> Answer, then: @escaping @Sendable (Transfer, Answer) -> Void
  ) {
    attempt.verdict = .asking
    handle(.asked)
    wait(for: question, then: then)
  }

  /// Calls `then` with the answer, unless the transfer is over by then.
  func wait<Answer: Sendable>(
    for question: @escaping @Sendable () async -> Answer, then: @escaping @Sendable (Transfer, Answer) -> Void
  ) {
    Task { [handle = engine.handle, id] in
      let answer = await question()
      handle.run(id) { then($0, answer) }
    }
  }

  private func answered(redirect next: HTTPRequest?) {
    guard case .asking = attempt.verdict else { return }
    guard let next else { return goOnWithResponse() }
    guard curl.allows(next) else { return fail(HTTPError(.badURL, "redirect")) }
    if engine.events.isObserved { tell(.redirected(next)) }
    failure = nil
    chain = chain.following(next)
    handle(.refused)
  }

  private func answered(credential: HTTPCredential?) {
    guard case .asking = attempt.verdict else { return }
    guard let credential else { return goOnWithResponse() }
    failure = nil
    chain = chain.answering(with: credential)
    handle(.refused)
  }

  func goOnWithResponse() {
    do throws(HTTPError) {
      guard let head = reader.head else { throw Self.noHead }
      try accept(head)
      // If there is no body, the attempt has ended while somebody was asked.
      if !machine.isAttached, failure == nil { exchange?.writer?.finish() }
      handle(.accepted)
    } catch {
      fail(error)
    }
  }

  func keepMetrics(of easy: CurlEasy) {
    metrics = easy.metrics(after: attempt.lookupDuration, furtherAttempts: attempts - 1)
  }

  func accept(_ head: ResponseHead) throws(HTTPError) {
    attempt.verdict = .accepted
    if !head.codings.isEmpty { attempt.decoder = makeDecoder(head.codings) }
    progress.totalToReceive = head.bodyLength
    try sink?.begin(head.response, to: chain.request, length: head.bodyLength)
    exchange?.store(head.response)
  }

  /// Returns the decoder of the body. Nil if the body has no coding to remove.
  private func makeDecoder(_ codings: BodyCodings) -> BodyDecoder? {
    guard let transfer = codings.transfer else { return BodyDecoder(nil) }
    let isAsked = curl.settings.acceptsCompressedResponses && !CurlRequest.choosesCoding(chain.request)
    let codings = (isAsked ? codings.content ?? [] : []) + transfer
    return codings.isEmpty ? nil : BodyDecoder(codings)
  }
}
