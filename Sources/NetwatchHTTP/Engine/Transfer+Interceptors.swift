import HTTPTypes

/// The interceptors in a task: they are asked before an attempt, and after one that has failed.
extension Transfer {
  private var interceptors: [any RequestInterceptor] { options.interceptors + engine.interceptors }

  /// Asks the interceptors for the request of an attempt. ``attach()`` follows.
  func adapt() {
    startClock()
    wait { [interceptors, plan, info] in
      do throws(HTTPError) {
        var request = plan.request
        for interceptor in interceptors { request = try await interceptor.adapt(request, for: info) }
        return Result<HTTPRequest, HTTPError>.success(request)
      } catch {
        return .failure(error)
      }
    } then: { transfer, answer in
      transfer.adapted(answer)
    }
  }

  private func adapted(_ answer: Result<HTTPRequest, HTTPError>) {
    switch answer {
    case .success(var request):
      plan.scope.confine(&request, own: plan.own)
      chain = chain.restarted(with: request)
      handle(.accepted)
    case .failure(let failure): fail(failure)
    }
  }

  /// Asks the interceptors whether another attempt follows a response.
  ///
  /// - Returns: False if no interceptor is asked.
  func askAboutRetry(after head: ResponseHead) -> Bool {
    // Another attempt would get the same from the cache.
    guard mayRetry, exchange?.delivery == nil, source?.canRewind ?? true else { return false }
    ask(question(response: head.response, error: nil)) { transfer, answer in
      guard transfer.attempt.verdict.isAsking else { return }
      switch answer.decision {
      case .retry(let delay): transfer.retry(after: delay, nil, answer.interceptor)
      case .next: transfer.goOnWithResponse()
      case .fail(let failure): transfer.fail(failure)
      }
    }
    return true
  }

  /// Asks the interceptors whether another attempt follows a failure.
  ///
  /// - Returns: False if no interceptor is asked. The task then ends with the failure.
  func askAboutRetry(after failure: HTTPError) -> Bool {
    // Bytes that have gone to a file or a stream cannot be taken back.
    guard mayRetry, !attempt.verdict.isAsking, !attempt.verdict.isAccepted || sink == nil else {
      return false
    }
    attempt.verdict = .asking
    handle(.attemptFailed)
    wait(for: question(response: nil, error: failure)) { transfer, answer in
      guard transfer.attempt.verdict.isAsking else { return }
      switch answer.decision {
      case .retry(let delay): return transfer.retry(after: delay, failure, answer.interceptor)
      case .next: break
      case .fail(let failure): transfer.failure = failure
      }
      transfer.handle(.accepted)
    }
    return true
  }

  private var mayRetry: Bool { machine.adapts && retries.values.reduce(0, +) < options.maximumRetries }

  /// The answer of an interceptor, and its index in the list. If no interceptor has one, the answer is `next`.
  private typealias Answer = (decision: RetryDecision, interceptor: Int)

  private func question(response: HTTPResponse?, error: HTTPError?) -> @Sendable () async -> Answer {
    let failure = HTTPFailedAttempt(
      task: info, request: chain.request, response: response, error: error, retries: 0)
    return { [interceptors, retries] in
      for (index, interceptor) in interceptors.enumerated() {
        var failure = failure
        failure.retries = retries[index] ?? 0
        let decision = await interceptor.retry(failure)
        if case .next = decision { continue }
        return (decision, index)
      }
      return (.next, 0)
    }
  }

  private func retry(after delay: Duration, _ error: HTTPError?, _ interceptor: Int) {
    if engine.events.isObserved { tell(.retrying(after: delay, error)) }
    _ = keepSource()
    failure = nil
    retries[interceptor, default: 0] += 1
    retryDelay = delay
    forgetBody()
    handle(.retried)
  }
}
