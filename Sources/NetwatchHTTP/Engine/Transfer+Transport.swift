import FoundationEssentials
import HTTPTypes

/// The attempts of a task that an ``HTTPTransport`` makes instead of libcurl.
extension Transfer {
  func carry(_ request: HTTPRequest, by transport: any HTTPTransport) throws(HTTPError) {
    guard curl.allows(request) else {
      throw HTTPError(
        .badURL, "request", message: "\(request.scheme ?? "")://\(request.authority ?? "")")
    }
    progress.sent = 0
    progress.totalToSend = chain.body?.length
    attempt.isBegun = true
    lastMoved = engine.now
    let buffer = BodyBuffer()
    buffer.onNews { [handle = engine.handle, id, number = attempts] in
      handle.run(id) { if $0.attempts == number { $0.readCarried() } }
    }
    let tell: @Sendable (Result<HTTPResponse, HTTPError>) -> Void = { [handle = engine.handle, id] head in
      // The carriage may have been replaced by one with a response from the cache.
      handle.run(id) { if $0.carriage?.buffer === buffer { $0.carried(head) } }
    }
    let body = chain.body?.length == 0 ? nil : chain.body
    carriage = Carriage(of: request, body, by: transport, buffer, tell)
  }

  private func carried(_ head: Result<HTTPResponse, HTTPError>) {
    guard carriage != nil, machine.isAttached else { return }
    lastMoved = engine.now
    let response: HTTPResponse
    switch head {
    case .success(let head): response = head
    case .failure(let failure): return carriedToEnd(failure)
    }
    attempt.hasAnswer = true
    if let total = progress.totalToSend, total > 0 {
      progress.sent = total
      report()
    }
    reader.take(response, length: exchange?.delivery?.body?.bodyCount)
    if !decide(on: reader.head) { concludeCarried() }
    readCarried()
  }

  /// Reads the parts of the body that have arrived, until the reader has enough.
  func readCarried() {
    while let carriage, attempt.hasAnswer, machine.isAttached, !machine.isSuspended, !attempt.verdict.isAsking {
      if carriage.held == nil {
        switch carriage.buffer.poll() {
        case nil: return
        case .success(nil): return carriedToEnd(nil)
        case .failure(let failure): return carriedToEnd(failure)
        case .success(let part): carriage.held = part
        }
      }
      guard let part = carriage.held else { return }
      switch unsafe part.withUnsafeBytes({ unsafe received(body: $0) }) {
      case .taken: carriage.held = nil
      case .paused: return
      case .refused: return concludeCarried()
      }
    }
  }

  private func carriedToEnd(_ failure: HTTPError?) {
    if failure == nil, case .undecided = attempt.verdict, !decide(on: reader.head) { return concludeCarried() }
    if failure == nil { endBody() }
    guard let failure, self.failure == nil, !attempt.verdict.isSkipped else { return concludeCarried() }
    if let exchange, standsIn(exchange, for: failure) { return replaceAnswer(exchange) }
    self.failure = failure
    if waitsForPath(after: failure) {
      self.failure = nil
      forgetClock()
      giveBack()
      return end(.attemptWentOffline)
    }
    concludeCarried()
  }

  private func concludeCarried() {
    keepCarriedMetrics()
    conclude()
  }

  func keepCarriedMetrics() {
    metrics.total = max(engine.now - attempt.began, .zero)
    metrics.furtherAttempts = attempts - 1
    metrics.cacheUse = exchange?.delivery?.use
    if exchange?.delivery == nil {
      metrics.bytesSent = progress.sent
      metrics.bytesReceived = progress.received
    }
  }
}
