import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// One task on its session's loop. Carries out the effects of the machine, and is the delegate of libcurl.
final class Transfer: CurlDelegate {
  /// The most bytes that are read of a redirect's body, so that the connection can be reused.
  private static let mostSkipped = 64 * 1_024

  let order: TransferOrder
  /// The engine, which holds the transfer until it is over.
  let engine: SessionEngine
  let curl: CurlMulti
  /// The destination of the body. Nil: the body is kept in `memory`.
  let sink: (any BodySink)?
  private var memory: MemoryBody
  private(set) var machine: TransferMachine
  var chain: RequestChain
  private(set) var easy: CurlEasy?
  private(set) var source: (any BodySource)?
  /// The body of an attempt that is to be repeated.
  var keptSource: (any BodySource)?
  /// The attempt that a transport makes instead of libcurl; nil for libcurl.
  var carriage: Carriage?
  /// The cache in this attempt; nil for a session without a cache.
  var exchange: CacheExchange?
  var attempt = TransferAttempt(began: .zero)
  var attempts = 0
  private(set) var status: TaskStatus?
  /// The number of attempts that each interceptor has asked for, by its index in the list.
  var retries: [Int: Int] = [:]
  /// The delay before the attempt that an interceptor has asked for.
  var retryDelay = Duration.zero
  let reader: HeadReader
  var progress = HTTPProgress()
  var failure: HTTPError?
  /// Whether the reader of the body has enough for now.
  private(set) var isStalled = false
  var lastMoved = Duration.zero
  /// The time at which the time for the whole task is over. Nil if there is no limit, or if it has not begun.
  var end: Duration?

  var options: HTTPTaskOptions { order.options }

  init(_ order: TransferOrder, _ engine: SessionEngine, _ curl: CurlMulti) {
    self.order = order
    status = order.status
    self.engine = engine
    self.curl = curl
    chain = RequestChain(order)
    reader = HeadReader(engine.heads)
    memory = MemoryBody(engine.bodies)
    sink = order.makeSink?(engine.reentry(order.id) { $0.goOnReading() })
    let adapts = !engine.interceptors.isEmpty || !order.options.interceptors.isEmpty
    let mayWait = order.options.waitsForPath && engine.path != nil
    machine = TransferMachine(
      waitsForPath: mayWait && !Self.looksBeforeItWaits(order, engine, adapts), adapts: adapts)
  }

  // MARK: The machine

  func handle(_ event: TransferMachine.Event) {
    if engine.events.isObserved { tell(of: event) }
    let effects = machine.handle(event)
    if effects.contains(.detach) { detach() }
    if effects.contains(.pause) { easy?.pause(true) }
    if effects.contains(.endActivity) { engine.observer?.value.ended(order.id) }
    if effects.contains(.stopWaiting) { engine.stopWaiting(self) }
    if effects.contains(.waitForPath) {
      if engine.events.isObserved { tell(.waiting) }
      engine.waitForPath(self)
    }
    if effects.contains(.delay) { engine.delay(self, by: retryDelay) }
    if effects.contains(.beginActivity) { engine.observer?.value.began(order.id, isIndicated: options.isIndicated) }
    if effects.contains(.adapt) { adapt() }
    if effects.contains(.attach) { attach() }
    if effects.contains(.proceed) { proceed() }
    if effects.contains(.complete) { engine.complete(self) }
    if let status, !machine.isOver { status.change(to: machine.phase) }
  }

  /// Returns the public state of the transfer. If there is none yet, it exists from now on.
  func publicStatus() -> TaskStatus {
    if let status { return status }
    let status = TaskStatus(machine.phase, progress)
    self.status = status
    return status
  }

  func report() {
    status?.change(to: progress)
    order.report(progress)
  }

  /// Begins or resumes the transfer. A request that cannot be sent fails without having begun.
  func resume() {
    if let refusal = order.call.refusal ?? refusalOfPath { return fail(refusal) }
    handle(.resumed)
  }

  /// Ends the task at once. Never called from within libcurl.
  func fail(_ failure: HTTPError) {
    guard !machine.isOver else { return }
    self.failure = failure
    handle(.cancelled)
  }

  private func attach() {
    if engine.cache == nil, options.restrictsPath, !mayUsePath { return end(.attemptWentOffline) }
    reader.begin()
    if attempts > 0 { order.facts.beginAttempt() }
    attempts += 1
    attempt = TransferAttempt(began: engine.now)
    if let cache = engine.cache { ask(cache) } else { send(chain.shared) }
  }

  func send(_ request: Shared<HTTPRequest>) {
    if engine.events.isObserved { tell(.sent(request.value, attempt: attempts)) }
    do throws(HTTPError) {
      if let transport = engine.transport {
        try carry(request.value, by: transport.value)
        return startClock()
      }
      // libcurl does not ask for an empty body.
      if let body = chain.body?.value, body.length != 0 {
        source = takeKeptSource()
        if source == nil { source = try body.open(engine.reentry(order.id) { $0.proceed() }) }
      }
      progress.sent = 0
      progress.totalToSend = chain.body?.value.length
      let easy = try curl.takeEasy()
      self.easy = easy
      try CurlRequest(shared: request, sharedBody: chain.body, credential: chain.credential)
        .apply(to: easy, of: curl, for: self)
      try curl.add(easy)
    } catch {
      failure = error
      giveBack()
      return end(.attemptEnded)
    }
    lastMoved = engine.now
    startClock()
  }

  func detach() {
    if attempt.host != nil { engine.dropLookup(of: self) }
    if let easy {
      keepMetrics(of: easy)
      curl.remove(easy)
    } else if carriage != nil {
      keepCarriedMetrics()
    }
    giveBack()
  }

  func giveBack() {
    if let easy { curl.giveBack(easy) }
    easy = nil
    source = nil
    carriage = nil
    exchange?.writer = nil
  }

  func proceed() {
    guard machine.isAttached, !machine.isSuspended else { return }
    lastMoved = engine.now
    engine.watchDeadline(of: self)
    if let exchange, exchange.isDue { return goOn(with: exchange) }
    if carriage != nil { return readCarried() }
    guard let easy, !easy.pause(false) else { return }
    curl.remove(easy)
    ended(CURLE_WRITE_ERROR)
  }

  /// Drops the part of a body that was kept in memory, because it is useless.
  func forgetBody() {
    memory = MemoryBody(engine.bodies)
    progress.received = 0
    progress.totalToReceive = nil
  }

  func goOnReading() {
    isStalled = false
    proceed()
  }

  /// Delivers the outcome. To be called once, when the transfer is over.
  ///
  /// - Returns: Whether a caller waits, whom the order has to wake. Otherwise the completion has run, or will run.
  func deliver() -> Bool {
    let outcome: TransferOrder.Outcome
    let head = reader.head
    do throws(HTTPError) {
      let received = try sink?.end(failure) ?? memory.takeAll()
      if let failure { throw failure }
      guard let head else { throw Self.noHead }
      order.facts.fill(head.response, to: chain.redirects > 0 ? chain.shared : nil)
      if let trailers = reader.trailers { order.facts.trailers = trailers }
      outcome = .success(HTTPReply(received, order.facts))
    } catch {
      var failure = error
      if failure.response == nil { failure.response = head?.response }
      outcome = .failure(failure)
    }
    if engine.events.isObserved {
      tell(.finished(outcome.map(\.response), order.facts.metrics))
      if order.makeSink == nil { observeSerialization() }
    }
    if order.status == nil { status?.end() }
    return order.complete(outcome, machine.isActive ? engine.observer : nil)
  }

  // MARK: From libcurl
  // Called from within libcurl, except for the end. They neither add nor remove a transfer.

  override func hasBegun() {
    attempt.isBegun = true
    lastMoved = engine.now
  }

  override func takesLookup() -> Bool { beginLookup() }

  override func maySend() -> Bool {
    hasBegun()
    guard chain.allowsRepetition || easy.map({ maySendOnce($0) }) ?? false else { return false }
    curl.holdCookies()
    return true
  }

  override func received(headLine line: UnsafeRawBufferPointer) -> Bool {
    lastMoved = engine.now
    attempt.hasAnswer = true
    // After a verdict, only trailers come. The next attempt drops them.
    let flaw =
      if case .undecided = attempt.verdict { unsafe reader.append(line) } else { unsafe reader.append(trailer: line) }
    if let flaw {
      refuse(HTTPError(.connectionLost, "response", message: flaw))
      return false
    }
    guard case .undecided = attempt.verdict, let head = reader.head else { return true }
    // libcurl may be able to answer a 401 itself. Its body must not be seen then.
    return head.code == HTTPResponse.Status.unauthorized.code || decide(on: head)
  }

  override func refuse(_ failure: HTTPError) { self.failure = failure }

  override func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
    if case .undecided = attempt.verdict, !decide(on: reader.head) { return .refused }
    if machine.isSuspended { return .paused }
    switch attempt.verdict {
    case .undecided: return .refused
    case .asking: return .paused
    case .skipped, .replaced:
      attempt.skipped += bytes.count
      unsafe exchange?.writer?.write(bytes)
      return attempt.skipped <= Self.mostSkipped ? .taken : .refused
    case .accepted:
      // libcurl 8.14 delivers the rest after a refusal.
      if failure != nil { return .refused }
      guard let decoder = attempt.decoder else { return unsafe accept(bytes) }
      return unsafe decode(bytes, decoder)
    }
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, _ decoder: BodyDecoder) -> BodyAcceptance {
    do throws(HTTPError) {
      return try unsafe decoder.decode(bytes) { unsafe accept($0) }
    } catch {
      failure = error
      return .refused
    }
  }

  private func accept(_ bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
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
        unsafe exchange?.writer?.write(bytes)
        progress.received = count
        report()
      }
      return acceptance
    } catch {
      failure = error
      return .refused
    }
  }

  /// The most bytes of the body, as it is delivered.
  private var limit: Int64? {
    guard sink == nil else { return options.maximumResponseBytes }
    return min(options.maximumBytesInMemory, options.maximumResponseBytes ?? .max)
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> BodyAcceptance {
    if let sink { return try unsafe sink.write(bytes) }
    unsafe memory.append(bytes, of: progress.totalToReceive)
    return .taken
  }

  override func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard let source else { return .failed }
    if machine.isSuspended { return .paused }
    let left = progress.totalToSend.map { Int(clamping: $0 - progress.sent) } ?? room.count
    // More bytes would be the connection's next request for the server.
    if left == 0 { return .bytes(0) }
    let supply = unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)))
    guard case .bytes(let count) = supply else { return supply }
    attempt.hasSupplied = true
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

  override func rewind() -> Bool {
    progress.sent = 0
    return source?.rewind() ?? false
  }

  override func ended(_ code: CURLcode) {
    guard let easy, failure != nil || !lookUp(after: code, of: easy) else { return }
    keepMetrics(of: easy)
    if code == CURLE_OK, case .undecided = attempt.verdict { _ = decide(on: reader.head) }
    if code == CURLE_OK { endBody() }
    if code != CURLE_OK, failure == nil, !attempt.verdict.isSkipped {
      let failure =
        source?.failure
        ?? easy.failure(code, hasAnswer: attempt.hasAnswer, from: curl.settings.localEndpoint)
      return attemptFailed(failure, of: easy)
    }
    conclude()
  }

  /// Handles the result of an attempt: a response, a redirect or a failure.
  func conclude() {
    if let exchange, case .replaced = attempt.verdict, failure == nil { return replaceAnswer(exchange) }
    var event = TransferMachine.Event.attemptEnded
    if case .skipped(let next) = attempt.verdict, failure == nil {
      if engine.events.isObserved { tell(.redirected(next)) }
      chain = chain.following(next)
      event = .attemptRedirected
    }
    let mayRepeat = failure != nil && machine.adapts && keepSource()
    giveBack()
    end(event, mayRepeat: mayRepeat)
  }

  /// Ends an attempt that libcurl has finished.
  func end(_ event: TransferMachine.Event, mayRepeat: Bool = true) {
    guard event == .attemptEnded, let failure, mayRepeat, askAboutRetry(after: failure) else { return handle(event) }
  }

  /// Keeps the body for the next attempt.
  ///
  /// - Returns: False if the part of the body that was sent cannot be made again.
  func keepSource() -> Bool {
    guard let source else { return true }
    keptSource = source.rewind() ? source : nil
    return keptSource != nil
  }

  /// Handles a failed attempt. Never called from within libcurl.
  func attemptFailed(_ failure: HTTPError, of easy: CurlEasy) {
    if let exchange, standsIn(exchange, for: failure) { return replaceAnswer(exchange) }
    self.failure = failureOfPath(failure, of: easy)
    let mayRepeat = self.failure == nil || machine.adapts && keepSource()
    if self.failure == nil {
      keptSource = source
      if !hasSent(easy) { forgetClock() }
    }
    giveBack()
    end(self.failure == nil ? .attemptWentOffline : .attemptEnded, mayRepeat: mayRepeat)
  }

  /// Ends the body, which is complete. An earlier failure is kept.
  func endBody() {
    guard failure == nil else { return }
    do throws(HTTPError) { try attempt.decoder?.end() } catch { failure = error }
    if failure == nil { exchange?.writer?.finish() }
  }
}
