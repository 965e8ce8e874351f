import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// One task on its session's loop: runs the machine's effects, and is what libcurl talks to.
final class Transfer {
  private enum Verdict {
    /// The head has not come, or a further one may follow.
    case undecided
    case asking
    /// Its body is read and thrown away.
    case skipped(HTTPRequest)
    case accepted
  }

  /// The body of a redirect is read up to here, so that the connection can be used again.
  private static let mostSkipped = 64 * 1_024

  let order: TransferOrder
  /// Which holds it too, until it is over.
  let engine: SessionEngine
  /// Nil: the body is kept in `memory`.
  private let sink: (any BodySink)?
  private var memory: MemoryBody
  private(set) var machine: TransferMachine
  private(set) var easy: CurlEasy?
  /// Where redirects have led; nil before the first.
  private var redirected: HTTPRequest?
  private(set) var body: HTTPBody?
  private var credentials = TransferCredentials()
  private(set) var source: (any BodySource)?
  /// Of an attempt that is to be made again.
  var keptSource: (any BodySource)?
  var destination = Destination.unknown
  /// When the attempt began.
  private(set) var began = Duration.zero
  /// Some line of an answer has come to what was sent last.
  var hasAnswer = false
  /// libcurl has taken some of the body to be sent, or its end.
  private(set) var hasSupplied = false
  /// What was sent last went out over HTTP/2.
  var wasMultiplexed = false
  /// A connection that was being made for the attempt is lost. Another one may succeed.
  var hasLostConnection = false
  var lookups = AttemptLookups()
  private let head: ResponseHead
  /// Nil for a body that is delivered as it comes.
  private var decoder: BodyDecoder?
  private var verdict = Verdict.undecided
  private var skipped = 0
  private var progress = HTTPProgress()
  private var metrics = HTTPMetrics()
  private var failure: HTTPError?
  private var attempts = 0
  private var redirects = 0
  /// The reader of the body has enough for now.
  private var isStalled = false
  var lastMoved = Duration.zero
  /// The attempt has a connection, or is making one: it does not wait in libcurl's queue.
  private var isBegun = false
  private var end: Duration?

  var options: HTTPTaskOptions { order.options }
  var request: HTTPRequest { redirected ?? order.request }

  init(_ order: TransferOrder, _ engine: SessionEngine) {
    self.order = order
    self.engine = engine
    head = ResponseHead(engine.heads)
    memory = MemoryBody(engine.bodies)
    sink = order.makeSink?(engine.waker(of: order))
    machine = TransferMachine(waitsForPath: order.options.waitsForReachability != nil && engine.path != nil)
    body = order.body
  }

  // MARK: The machine

  func handle(_ event: TransferMachine.Event) {
    let effects = machine.handle(event)
    if effects.contains(.detach) { detach() }
    if effects.contains(.pause) { easy?.pause(true) }
    if effects.contains(.endActivity) { engine.observer?.ended(order.id) }
    if effects.contains(.stopWaiting) { engine.stopWaiting(self) }
    if effects.contains(.waitForPath) { engine.waitForPath(self) }
    if effects.contains(.beginActivity) { engine.observer?.began(order.id, isIndicated: options.isIndicated) }
    if effects.contains(.attach) { attach() }
    if effects.contains(.proceed) { proceed() }
    if effects.contains(.complete) { engine.complete(self) }
    if !machine.isOver { order.status.change { $0.state = state } }
  }

  private var state: HTTPTask.State {
    machine.isSuspended ? .suspended : machine.phase == .waiting ? .waiting : .running
  }

  /// Ends the task at once. Not from within libcurl.
  func fail(_ failure: HTTPError) {
    guard !machine.isOver else { return }
    self.failure = failure
    handle(.cancelled)
  }

  private func attach() {
    head.begin()
    attempts += 1
    verdict = .undecided
    decoder = nil
    skipped = 0
    isBegun = false
    hasAnswer = false
    hasSupplied = false
    hasLostConnection = false
    lookups = AttemptLookups()
    began = engine.now
    destination = .unknown
    do throws(HTTPError) {
      if let body {
        let waker = engine.waker(of: order)
        source = takeKeptSource()
        if source == nil { source = try body.open { waker.goOnSending() } }
      }
      progress.sent = 0
      progress.totalToSend = body == nil ? nil : body?.length
      let easy = try engine.takeEasy()
      self.easy = easy
      let credential = credentials.credential(for: request, of: order)
      try CurlRequest(request: request, body: body, credential: credential).apply(to: easy, for: self, engine)
      try engine.add(easy)
    } catch {
      failure = error
      giveBack()
      return handle(.attemptEnded)
    }
    lastMoved = engine.now
    if end == nil, let limit = options.totalTimeout { end = lastMoved + limit.asDelay }
    engine.watchDeadline(of: self)
  }

  private func detach() {
    if lookups.host != nil { engine.dropLookup(of: self) }
    if let easy { engine.remove(easy) }
    giveBack()
  }

  private func giveBack() {
    if let easy { engine.giveBack(easy) }
    easy = nil
    source = nil
  }

  func proceed() {
    guard machine.isAttached, !machine.isSuspended else { return }
    lastMoved = engine.now
    engine.watchDeadline(of: self)
    guard let easy, !easy.pause(false) else { return }
    engine.remove(easy)
    ended(CURLE_WRITE_ERROR)
  }

  func goOnReading() {
    isStalled = false
    proceed()
  }

  /// To be called once, when it is over.
  ///
  /// - Returns: a caller to be woken; nil if the completion has run, or will.
  func deliver() -> WaitingCaller? {
    let outcome: TransferOutcome
    let response = head.isComplete ? head.response : nil
    do throws(HTTPError) {
      let received = try sink?.end(failure) ?? memory.takeAll()
      if let failure { throw failure }
      guard let response else { throw HTTPError(.connectionLost, "response", message: "the server has sent no head") }
      order.facts.fill(response, to: redirected, metrics)
      outcome = .success(HTTPReply(received, order.facts))
    } catch {
      var failure = error
      if failure.response == nil { failure.response = response }
      outcome = .failure(failure)
    }
    return order.complete(outcome, machine.isActive ? engine.observer : nil)
  }

  /// When nothing has moved for too long; nil where that does not matter now.
  var deadline: Duration? {
    guard machine.isAttached, !machine.isSuspended, !isStalled, let timeout = options.timeout else { return end }
    if case .asking = verdict { return end }
    let idleEnd = lastMoved + timeout.asDelay
    return end.map { min($0, idleEnd) } ?? idleEnd
  }

  /// Whether ``deadline`` has come. A request that still waits for a connection has stood still for no time.
  func isLate(at now: Duration) -> Bool {
    guard let deadline, deadline <= now else { return false }
    if !isBegun { lastMoved = now }
    return self.deadline.map { $0 <= now } ?? false
  }

  // MARK: From libcurl
  // From within it, but for the end: neither adds nor removes a transfer.

  /// A connection is being made, or there is one and the request goes out.
  func hasBegun() {
    isBegun = true
    lastMoved = engine.now
  }

  /// A line of a response's head, with its line break.
  ///
  /// - Returns: false to fail the attempt.
  func received(headLine line: UnsafeRawBufferPointer) -> Bool {
    lastMoved = engine.now
    hasAnswer = true
    // After a verdict only trailers come.
    guard case .undecided = verdict else { return true }
    if let flaw = unsafe head.take(line) {
      refuse(HTTPError(.connectionLost, "response", message: flaw))
      return false
    }
    if head.isComplete, head.codings.bypassLibcurl { easy?.decodesContent = false }
    // libcurl may have an answer to a 401, and its body is not to be seen then.
    guard head.isComplete, head.code != HTTPResponse.Status.unauthorized.code else { return true }
    return decide()
  }

  /// What has come is no HTTP: the attempt is broken off.
  func refuse(_ failure: HTTPError) { self.failure = failure }

  /// A part of the body. Its codings are on it where they are taken off here.
  func received(body bytes: UnsafeRawBufferPointer) -> CurlEasy.Acceptance {
    if case .undecided = verdict, !decide() { return .refused }
    if machine.isSuspended { return .paused }
    switch verdict {
    case .undecided: return .refused
    case .asking: return .paused
    case .skipped:
      skipped += bytes.count
      return skipped <= Self.mostSkipped ? .taken : .refused
    case .accepted:
      guard let decoder else { return unsafe accept(bytes) }
      return unsafe decode(bytes, decoder)
    }
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, _ decoder: BodyDecoder) -> CurlEasy.Acceptance {
    do throws(HTTPError) {
      return try unsafe decoder.decode(bytes) { unsafe accept($0) }
    } catch {
      failure = error
      return .refused
    }
  }

  private func accept(_ bytes: UnsafeRawBufferPointer) -> CurlEasy.Acceptance {
    lastMoved = engine.now
    let count = progress.received + Int64(bytes.count)
    if let limit, count > limit {
      failure = HTTPError(.responseTooLarge, "response", message: "more than \(limit) bytes")
      return .refused
    }
    do throws(HTTPError) {
      let acceptance = try unsafe keep(bytes)
      isStalled = acceptance == .paused
      if acceptance == .taken {
        progress.received = count
        report()
      }
      return acceptance
    } catch {
      failure = error
      return .refused
    }
  }

  /// In bytes of the body as it is delivered.
  private var limit: Int64? {
    guard sink == nil else { return options.maximumResponseBytes }
    return min(options.maximumBytesInMemory, options.maximumResponseBytes ?? .max)
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> CurlEasy.Acceptance {
    if let sink { return try unsafe sink.take(bytes) }
    unsafe memory.take(bytes, of: progress.totalToReceive)
    return .taken
  }

  /// Room for more of the request's body.
  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard let source else { return .failed }
    if machine.isSuspended { return .paused }
    let left = progress.totalToSend.map { Int(clamping: $0 - progress.sent) } ?? room.count
    // More would be the connection's next request, in the server's eyes.
    if left == 0 { return .bytes(0) }
    let supply = unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)))
    guard case .bytes(let count) = supply else { return supply }
    hasSupplied = true
    if count > 0 {
      lastMoved = engine.now
      progress.sent += Int64(count)
      report()
    } else if progress.totalToSend != nil {
      failure = HTTPError(
        .cannotEncodeRequest, "send body", message: "it ends \(left) bytes before the length that was declared")
      return .failed
    }
    return supply
  }

  /// The request's body has to be sent once more.
  ///
  /// - Returns: false where that can not be done.
  func rewind() -> Bool {
    progress.sent = 0
    return source?.rewind() ?? false
  }

  private func report() {
    order.status.change { $0.progress = progress }
    order.callbacks?.report(progress)
  }

  /// libcurl is done, and has let go of the attempt. From here others may be added and removed.
  func ended(_ code: CURLcode) {
    guard let easy, failure != nil || !lookUp(after: code, of: easy) else { return }
    metrics = HTTPMetrics(of: easy, after: lookups.duration, furtherAttempts: attempts - 1)
    if code == CURLE_OK, case .undecided = verdict { _ = decide() }
    if code == CURLE_OK { endDecoding() }
    var event = TransferMachine.Event.attemptEnded
    if case .skipped(let next) = verdict, failure == nil {
      follow(next)
      event = .attemptRedirected
    } else if code != CURLE_OK, failure == nil {
      return attemptFailed(source?.failure ?? easy.failure(code, hasAnswer: hasAnswer), of: easy)
    }
    giveBack()
    handle(event)
  }

  /// Not from within libcurl.
  func attemptFailed(_ failure: HTTPError, of easy: CurlEasy) {
    var event = TransferMachine.Event.attemptEnded
    switch pathVerdict(on: failure, of: easy) {
    case .repeated:
      keptSource = source
      event = .attemptWentOffline
    case .failed(let failure): self.failure = failure
    }
    giveBack()
    handle(event)
  }

  /// The body has come as the server has sent it. A failure that is known stands.
  private func endDecoding() {
    guard let decoder, failure == nil else { return }
    do throws(HTTPError) { try decoder.end() } catch { failure = error }
  }

  // MARK: Verdicts

  /// - Returns: false where the attempt has to be broken off.
  private func decide() -> Bool {
    guard head.isComplete, let response = head.response else {
      failure = HTTPError(.connectionLost, "response", message: "the server has sent no head")
      return false
    }
    if 300..<400 ~= head.code, options.maximumRedirects > 0, let location = Redirection.location(of: response) {
      let next = Redirection.next(to: location, after: response, to: request) { [order] next in
        order.scope.covers(next, own: order.own)
      }
      return decide(response, next)
    }
    if head.code == HTTPResponse.Status.unauthorized.code, let ask = options.onChallenge,
      credentials.refusals(by: request) < options.maximumChallenges
    {
      let challenge = HTTPChallenge(
        request: request, response: response, failures: credentials.refusals(by: request))
      self.ask(answer: { await ask(challenge) }, then: Transfer.answer(credential:))
      return true
    }
    return accept(response)
  }

  private func decide(_ response: HTTPResponse, _ next: HTTPRequest?) -> Bool {
    guard let next, engine.allows(next) else {
      failure = HTTPError(.badURL, "redirect", message: response.headerFields[.location] ?? "")
      failure?.response = response
      return false
    }
    guard redirects < options.maximumRedirects else {
      failure = HTTPError(.tooManyRedirects, "redirect", message: "more than \(options.maximumRedirects)")
      return false
    }
    guard let ask = options.onRedirect else {
      verdict = .skipped(next)
      return true
    }
    let redirect = HTTPRedirect(request: request, response: response, next: next, count: redirects)
    self.ask(
      answer: { await ask(redirect).map { Redirection.changed(next, to: $0) } }, then: Transfer.answer(redirect:))
    return true
  }

  private func ask<Answer: Sendable>(
    answer: @escaping @Sendable () async -> Answer, then: @escaping @Sendable (Transfer) -> (Answer) -> Void
  ) {
    verdict = .asking
    handle(.asked)
    let (port, id) = (engine.port, order.id)
    Task {
      let answer = await answer()
      port?.submit { engine in
        if let transfer = engine.transfer(id) { then(transfer)(answer) }
      }
    }
  }

  private func answer(redirect next: HTTPRequest?) {
    guard case .asking = verdict else { return }
    guard let next else { return goOnWithResponse() }
    guard engine.allows(next) else { return fail(HTTPError(.badURL, "redirect")) }
    follow(next)
    handle(.refused)
  }

  private func answer(credential: HTTPCredential?) {
    guard case .asking = verdict else { return }
    guard let credential else { return goOnWithResponse() }
    credentials.answer(request, with: credential)
    failure = nil
    handle(.refused)
  }

  private func goOnWithResponse() {
    guard let response = head.response else { return }
    if accept(response) {
      handle(.accepted)
    } else {
      handle(.cancelled)
    }
  }

  private func accept(_ response: HTTPResponse) -> Bool {
    verdict = .accepted
    if head.codings.bypassLibcurl { decoder = makeDecoder() }
    progress.totalToReceive = head.bodyLength
    do throws(HTTPError) {
      try sink?.begin(response, to: request, length: head.bodyLength)
      return true
    } catch {
      failure = error
      return false
    }
  }

  /// Nil where there is nothing to be taken off.
  private func makeDecoder() -> BodyDecoder? {
    let isAsked = engine.configuration.acceptsCompressed && !CurlRequest.choosesCoding(request)
    let codings = (isAsked ? head.codings.content ?? [] : []) + (head.codings.transfer ?? [])
    return codings.isEmpty ? nil : BodyDecoder(codings)
  }

  private func follow(_ next: HTTPRequest) {
    if next.method != request.method { body = nil }
    redirects += 1
    redirected = next
    failure = nil
  }
}
