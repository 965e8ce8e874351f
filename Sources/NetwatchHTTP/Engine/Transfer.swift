import CLibCurl
import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// One task on its session's loop. Carries out the effects of the machine, and is the delegate of libcurl.
final class Transfer: CurlDelegate {
  /// The most bytes that are read of a redirect's body, so that the connection can be reused.
  private static let mostSkipped = 64 * 1_024

  /// The result of a request, before its body is decoded.
  typealias Outcome = Result<HTTPReply<ReceivedBody>, HTTPError>
  /// The outcome of a transfer, and whether its activity was on.
  typealias End = (outcome: Outcome, wasActive: Bool)

  let plan: RequestPlan
  let id: RequestID
  /// The engine, which holds the transfer until it is over.
  let engine: SessionEngine
  let curl: CurlMulti
  /// The most memory that is reserved because of the length that a server announces.
  private static let mostReserved: Int64 = 1_024 * 1_024
  /// The destination of the body. Nil: the body is kept in `memory`.
  let sink: (any BodySink)?
  private var memory = Data()
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
  /// The metrics of the attempt.
  var metrics = HTTPMetrics()
  /// The metrics of the attempts before.
  var earlierMetrics: [HTTPMetrics] = []
  private(set) var status: TaskStatus?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let completion: OneShot<End?>
  /// The number of attempts that each interceptor has asked for, by its index in the list.
  var retries: [Int: Int] = [:]
  /// The delay before the attempt that an interceptor has asked for.
  var retryDelay = Duration.zero
  var reader = HeadReader()
  var progress = HTTPProgress()
  var failure: HTTPError?
  /// Whether the reader of the body has enough for now.
  private(set) var isStalled = false
  var lastMoved = Duration.zero
  /// The time at which the time for the whole task is over. Nil if there is no limit, or if it has not begun.
  var end: Duration?

  var options: HTTPTaskOptions { plan.options }
  var info: HTTPTaskInfo { HTTPTaskInfo(id: id, kind: plan.kind, label: options.label) }

  init(
    _ plan: RequestPlan, _ id: RequestID, _ engine: SessionEngine, _ curl: CurlMulti, _ status: TaskStatus?,
    _ onProgress: (@Sendable (HTTPProgress) -> Void)?, _ makeSink: RequestPlan.MakeSink?, _ completion: OneShot<End?>
  ) {
    self.plan = plan
    self.id = id
    self.status = status
    self.engine = engine
    self.curl = curl
    self.onProgress = onProgress
    self.completion = completion
    chain = RequestChain(plan)
    sink = makeSink?({ [handle = engine.handle] in handle.run(id) { $0.goOnReading() } })
    let adapts = !engine.interceptors.isEmpty || !plan.options.interceptors.isEmpty
    let mayWait = plan.options.waitsForPath && engine.path != nil
    machine = TransferMachine(
      waitsForPath: mayWait && !Self.looksBeforeItWaits(plan, engine, adapts), adapts: adapts)
  }

  // MARK: The machine

  func handle(_ event: TransferMachine.Event) {
    if engine.events.isObserved { tell(of: event) }
    let effects = machine.handle(event)
    if effects.contains(.detach) { detach() }
    if effects.contains(.pause) { easy?.pause(true) }
    if effects.contains(.endActivity) { engine.observer?.ended(id) }
    if effects.contains(.stopWaiting) { engine.stopWaiting(self) }
    if effects.contains(.waitForPath) {
      if engine.events.isObserved { tell(.waiting) }
      engine.waitForPath(self)
    }
    if effects.contains(.delay) { engine.delay(self, by: retryDelay) }
    if effects.contains(.beginActivity) { engine.observer?.began(id, isIndicated: options.isIndicated) }
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
    onProgress?(progress)
  }

  /// Begins or resumes the transfer. A request that cannot be sent fails without having begun.
  func resume() {
    if let refusal = plan.refusal ?? refusalOfPath { return fail(refusal) }
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
    reader = HeadReader()
    if attempts > 0 {
      earlierMetrics.append(metrics)
      metrics = HTTPMetrics()
      metrics.furtherAttempts = earlierMetrics.count
    }
    attempts += 1
    attempt = TransferAttempt(began: engine.now)
    if let cache = engine.cache { ask(cache) } else { send(chain.request) }
  }

  func send(_ request: HTTPRequest) {
    if engine.events.isObserved { tell(.sent(request, attempt: attempts)) }
    do throws(HTTPError) {
      if let transport = engine.transport {
        try carry(request, by: transport)
        return startClock()
      }
      // libcurl does not ask for an empty body.
      if let body = chain.body, body.length != 0 {
        source = takeKeptSource()
        if source == nil { source = try body.open { [handle = engine.handle, id] in handle.run(id) { $0.proceed() } } }
      }
      progress.sent = 0
      progress.totalToSend = chain.body?.length
      let easy = try curl.takeEasy()
      self.easy = easy
      try CurlRequest(request: request, body: chain.body, credential: chain.credential)
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
    memory = Data()
    progress.received = 0
    progress.totalToReceive = nil
  }

  func goOnReading() {
    isStalled = false
    proceed()
  }

  /// Delivers the outcome. To be called once, when the transfer is over.
  func deliver() {
    let outcome: Outcome
    let head = reader.head
    do throws(HTTPError) {
      let received = try sink?.end(failure) ?? .data(memory)
      if let failure { throw failure }
      guard let head else { throw Self.noHead }
      let facts = ReplyFacts(
        head.response, to: chain.redirects > 0 ? chain.request : plan.request, metrics, earlier: earlierMetrics,
        trailers: reader.trailers, onSerialized: engine.events.isObserved && sink == nil ? observeSerialization() : nil)
      outcome = .success(HTTPReply(received, facts))
    } catch {
      var failure = error
      if failure.response == nil { failure.response = head?.response }
      outcome = .failure(failure)
    }
    if engine.events.isObserved { tell(.finished(outcome.map(\.response), metrics)) }
    status?.end()
    completion.fulfill((outcome, machine.isActive))
  }

  // MARK: From libcurl
  // Called from within libcurl, except for the end. They neither add nor remove a transfer.

  func hasBegun() {
    attempt.isBegun = true
    lastMoved = engine.now
  }

  func takesLookup() -> Bool { beginLookup() }

  func maySend() -> Bool {
    hasBegun()
    guard chain.allowsRepetition || easy.map({ maySendOnce($0) }) ?? false else { return false }
    curl.holdCookies()
    return true
  }

  func received(headLine line: UnsafeRawBufferPointer) -> Bool {
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

  func refuse(_ failure: HTTPError) { self.failure = failure }

  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
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
    if memory.isEmpty {
      memory.reserveCapacity(max(bytes.count, Int(min(progress.totalToReceive ?? 0, Self.mostReserved))))
    }
    unsafe memory.append(contentsOf: bytes)
    return .taken
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
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

  func rewind() -> Bool {
    progress.sent = 0
    return source?.rewind() ?? false
  }

  func ended(_ code: CURLcode) {
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
