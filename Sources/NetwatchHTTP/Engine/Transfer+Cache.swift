import HTTPTypes

/// The cache in a task, if its session has one: the task looks into the cache before an attempt is sent, and stores the
/// server's response.
///
/// For the task's machine, an attempt that the cache answers is like an attempt that is sent. While the cache looks, the
/// machine is in the state in which somebody is asked.
extension Transfer {
  /// The errors of a server that cannot be reached, or of a path that is lost.
  private static let standInKinds: Set<HTTPError.Kind> = [
    .notResolved, .cannotConnect, .connectionLost, .timedOut, .pathLost,
  ]

  /// Returns whether the cache may have a response for which no path is needed. Interceptors may need a path.
  static func looksBeforeItWaits(_ plan: RequestPlan, _ engine: SessionEngine, _ adapts: Bool) -> Bool {
    guard engine.cache != nil else { return false }
    return plan.options.cachePolicy == .requiresCache || !adapts && CacheFreshness.mayBeAnswered(plan.request)
  }

  /// Asks the cache. The request is sent after the cache has answered, unless the answer can be used.
  func ask(_ cache: HTTPDiskCache) {
    let hasBody = chain.body.map { $0.length != 0 } ?? false
    let wasUseless = exchange?.isUseless ?? false
    let exchange = CacheExchange(
      cache, requestWithDefaults, hasBody: hasBody, hasCredential: chain.credential != nil,
      onCaching: options.onCaching)
    self.exchange = exchange
    guard !wasUseless, let url = exchange.beginLookup(options.cachePolicy) else { return goOn(with: exchange) }
    attempt.isBegun = true
    lastMoved = engine.now
    handle(.asked)
    startClock()
    cache.find(url, where: exchange.isWanted) { [handle = engine.handle, id, number = attempts] answer in
      handle.run(id) { transfer in
        guard transfer.attempts == number else { return }
        transfer.exchange?.found(answer)
        transfer.handle(.accepted)
      }
    }
  }

  /// The request with the fields that libcurl adds, as far as they may select a response.
  private var requestWithDefaults: HTTPRequest {
    var request = chain.request
    if request.headerFields[.userAgent] == nil { request.headerFields[.userAgent] = curl.settings.userAgent }
    // A response in an encoding that the request itself asks for is delivered as it is, and any other is decompressed.
    if !curl.settings.acceptsCompressedResponses, request.headerFields[.acceptEncoding] == nil {
      request.headerFields[.acceptEncoding] = "identity"
    }
    return request
  }

  func goOn(with exchange: CacheExchange) {
    guard let fields = exchange.decide(options.cachePolicy) else { return deliver(exchange) }
    attempt.isBegun = false
    if mustWaitForPath {
      if exchange.standIn() { return deliver(exchange) }
      // This does not count as an attempt, because nothing is sent.
      attempts -= 1
      if let earlier = earlierMetrics.popLast() { metrics = earlier }
      forgetClock()
      return handle(.attemptWentOffline)
    }
    guard !fields.isEmpty else { return send(chain.request) }
    var request = chain.request
    for field in fields { request.headerFields[field.name] = field.value }
    send(request)
  }

  private var mustWaitForPath: Bool {
    guard engine.path != nil, options.waitsForPath else { return false }
    return attempts == 1 ? !hasPath : !mayUsePath
  }

  private func deliver(_ exchange: CacheExchange) {
    guard let delivery = exchange.delivery else { return }
    if delivery.use == .hit || delivery.use == .miss { metrics = HTTPMetrics() }
    do throws(HTTPError) {
      try carry(chain.request, by: CachedTransport(response: delivery.response, answer: delivery.body))
      startClock()
    } catch {
      failure = error
      giveBack()
      end(.attemptEnded)
    }
  }

  // MARK: After the server's answer

  func replaces(_ exchange: CacheExchange, _ response: HTTPResponse) -> Bool { exchange.isReplaced(response) }

  func standsIn(_ exchange: CacheExchange, for failure: HTTPError) -> Bool {
    guard case .undecided = attempt.verdict, !attempt.hasAnswer, Self.standInKinds.contains(failure.kind) else {
      return false
    }
    return exchange.standIn()
  }

  /// Handles the task's deadline, which has passed.
  func timedOut() {
    let failure = HTTPError(.timedOut, "request")
    guard let exchange, machine.isAttached, end.map({ engine.now < $0 }) ?? true, standsIn(exchange, for: failure)
    else { return fail(failure) }
    detach()
    replaceAnswer(exchange)
  }

  /// Continues the attempt with the response of the cache. If that response is unusable, the next attempt does not look for it.
  func replaceAnswer(_ exchange: CacheExchange) {
    giveBack()
    guard exchange.delivery != nil else { return handle(.attemptRedirected) }
    attempt = TransferAttempt(began: attempt.began)
    reader = HeadReader()
    deliver(exchange)
  }
}
