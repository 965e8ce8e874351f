import HTTPTypes

/// What a task does if its session has a cache: it looks there before an attempt is sent, and stores what the server answers.
///
/// To the task's machine, an attempt that the cache answers is like one that is sent. While the cache looks, somebody is asked.
extension Transfer {
  /// A server that cannot be reached, or a path that is lost.
  private static let standInKinds: Set<HTTPError.Kind> = [
    .notResolved, .cannotConnect, .connectionLost, .timedOut, .pathLost,
  ]

  /// Whether the cache may have an answer for which no path is needed. Interceptors may need one.
  static func looksBeforeItWaits(_ order: TransferOrder, _ engine: SessionEngine, _ adapts: Bool) -> Bool {
    guard engine.cache != nil else { return false }
    return order.options.cachePolicy == .requiresCache || !adapts && CacheFreshness.mayBeAnswered(order.request)
  }

  /// The request is sent once the cache has answered, unless it has an answer that can be used.
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
    let (inbox, id, number) = (engine.inbox, order.id, attempts)
    cache.find(url, where: exchange.isWanted) { answer in
      inbox?.send(
        .run { engine in
          guard let transfer = engine.transfer(id), transfer.attempts == number else { return }
          transfer.exchange?.found(answer)
          transfer.handle(.accepted)
        })
    }
  }

  /// With what libcurl adds, as far as it may select an answer.
  private var requestWithDefaults: HTTPRequest {
    var request = chain.request
    if request.headerFields[.userAgent] == nil { request.headerFields[.userAgent] = curl.settings.userAgent }
    // What is asked for in the request's own words is delivered as it is, and all else is decompressed.
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
      // It was none: nothing is sent.
      attempts -= 1
      order.facts.dropAttempt()
      return handle(.attemptWentOffline)
    }
    guard !fields.isEmpty else { return send(chain.shared) }
    var request = chain.request
    for field in fields { request.headerFields[field.name] = field.value }
    send(SharedRequest(request))
  }

  private var mustWaitForPath: Bool {
    guard engine.path != nil, options.waitsForPath else { return false }
    return attempts == 1 ? !hasPath : !mayUsePath
  }

  private func deliver(_ exchange: CacheExchange) {
    guard let delivery = exchange.delivery else { return }
    if delivery.use == .hit || delivery.use == .miss { order.facts.metrics = HTTPMetrics() }
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

  /// The task's deadline has come.
  func timedOut() {
    let failure = HTTPError(.timedOut, "request")
    guard let exchange, machine.isAttached, end.map({ engine.now < $0 }) ?? true, standsIn(exchange, for: failure)
    else { return fail(failure) }
    detach()
    replaceAnswer(exchange)
  }

  /// The attempt goes on with the answer of the cache. If that is worth nothing, the next attempt does not look for it.
  func replaceAnswer(_ exchange: CacheExchange) {
    giveBack()
    guard exchange.delivery != nil else { return handle(.attemptRedirected) }
    attempt = TransferAttempt(began: attempt.began)
    reader.begin()
    deliver(exchange)
  }
}
