import FoundationEssentials
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// One task on its session's loop: its attempts, one after the other, and what comes of them. Carries out the effects of the
/// machine.
final class Transfer {
  /// The result of a request, before its body is decoded.
  typealias Outcome = Result<HTTPReply<ReceivedBody>, HTTPError>
  /// The outcome of a transfer, and who is told that its activity ends; nil if it was not active.
  typealias End = (outcome: Outcome, observer: (any RequestObserver)?)

  /// The most bytes that are read of a redirect's body, so that the connection can be reused.
  private static let mostSkipped = 64 * 1_024

  let plan: RequestPlan
  let id: RequestID
  /// The engine, which holds the transfer until it is over.
  private let engine: SessionEngine
  private let curl: CurlMulti
  private var machine: TransferMachine
  private var status: TaskStatus?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let completion: Promise<End?>
  var failure: HTTPError?

  // MARK: The attempts

  private var attempt: (any Attempt)?
  /// The request of the plan, which asks for the rest of a body that has broken off.
  private var first: HTTPRequest
  private var attempts = 0
  /// The number of attempts that a transport has made, or the cache.
  private var transports = 0
  /// The time at which the attempt began.
  private var began = Duration.zero
  /// The cache in this attempt; nil for a session without a cache.
  private var transaction: CacheTransaction?
  /// The source of the request's body for an attempt that is to be repeated.
  private var keptSource: (any BodySource)?
  /// The addresses of the server or of its proxy. Nil if they are not known; empty if the name has no address.
  private var peers: [InternetAddress]?
  private var metrics = HTTPMetrics()
  /// The metrics of the attempts before.
  private var earlierMetrics: [HTTPMetrics] = []
  /// The number of attempts that each interceptor has asked for, by its index in the list.
  private var retries: [Int: Int] = [:]

  // MARK: The response

  private var head: ResponseHead?
  private var trailers: HTTPFields?
  private var body: ResponseBody
  /// The number of bytes of this attempt that were thrown away.
  private var skipped = 0
  private(set) var progress = HTTPProgress()

  private var chain: RequestChain { machine.chain }
  private var options: HTTPTaskOptions { plan.options }
  private var info: HTTPTaskInfo { HTTPTaskInfo(id: id, kind: plan.kind, label: options.label) }

  init(
    _ plan: RequestPlan, _ id: RequestID, _ engine: SessionEngine, _ curl: CurlMulti, _ status: TaskStatus?,
    _ onProgress: (@Sendable (HTTPProgress) -> Void)?, _ makeSink: RequestPlan.MakeSink?, _ completion: Promise<End?>
  ) {
    self.plan = plan
    first = plan.request
    self.id = id
    self.status = status
    self.engine = engine
    self.curl = curl
    self.onProgress = onProgress
    self.completion = completion
    body = ResponseBody(
      makeSink?({ [handle = engine.handle] in handle.run(id) { $0.resumeReading() } }), plan.options)
    let adapts = !engine.interceptors.isEmpty || !plan.options.interceptors.isEmpty
    let mayWait = plan.options.waitsForPath && engine.path != nil
    machine = TransferMachine(
      plan, waitsForPath: mayWait && !Self.looksBeforeItWaits(plan, engine, adapts), adapts: adapts)
  }

  // MARK: The machine

  func handle(_ event: TransferMachine.Event) {
    if engine.events.isObserved { emitEvents(of: event) }
    let effects = machine.handle(event, at: engine.now)
    if effects.contains(.detach) { release() }
    if effects.contains(.pause) { attempt?.pause() }
    if effects.contains(.endActivity) { engine.observer?.ended(id) }
    if effects.contains(.stopWaiting) { engine.stopWaiting(self) }
    if effects.contains(.waitForPath) {
      if engine.events.isObserved { emit(.waiting) }
      waitForPath()
    }
    if effects.contains(.beginActivity) { engine.observer?.began(id, isIndicated: options.isIndicated) }
    if effects.contains(.adapt) { adapt() }
    if effects.contains(.attach) { attach() }
    if effects.contains(.proceed) { proceed() }
    if effects.contains(.complete) { engine.complete(self) }
    if effects.contains(.endIdleness) { endIdleness() }
    if effects.contains(.endTime) { fail(HTTPError(.timedOut, "request")) }
    if effects.contains(.endPathWait) { endPathWait() }
    guard !machine.isOver else { return }
    status?.change(to: machine.phase.state)
    engine.watchDeadline(of: self)
  }

  /// Returns the public state of the transfer. If there is none yet, it exists from now on.
  func publicStatus() -> TaskStatus {
    if let status { return status }
    let status = TaskStatus(machine.phase.state, progress)
    self.status = status
    return status
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

  // MARK: An attempt

  private func attach() {
    if engine.cache == nil, options.restrictsPath, !mayUsePath { return handle(.attemptWentOffline) }
    if attempts > 0 {
      earlierMetrics.append(metrics)
      metrics = HTTPMetrics()
      metrics.furtherAttempts = earlierMetrics.count
    }
    attempts += 1
    began = engine.now
    forgetResponse()
    if let cache = engine.cache { ask(cache) } else { send(chain.request) }
  }

  private func forgetResponse() {
    (head, trailers, skipped) = (nil, nil, 0)
    peers = nil
  }

  private func send(_ request: HTTPRequest) {
    if engine.events.isObserved { emit(.sent(request, attempt: attempts)) }
    progress.sent = 0
    progress.totalToSend = chain.body?.length
    if let transport = engine.transport {
      carry(request, by: transport)
    } else {
      begin { () throws(HTTPError) in
        try CurlAttempt(request, of: chain, source(), plan, by: curl, for: self)
      }
    }
  }

  private func carry(_ request: HTTPRequest, by transport: any HTTPTransport, length: Int64? = nil) {
    begin { () throws(HTTPError) in
      guard curl.allows(request) else {
        throw HTTPError(.badURL, "request", message: "\(request.scheme ?? "")://\(request.authority ?? "")")
      }
      // The news of an attempt that was replaced by another one go to nobody.
      transports += 1
      return TransportAttempt(request, chain.body, by: transport, length: length, for: self) {
        [handle = engine.handle, id, number = transports] news in
        handle.run(id) { if $0.transports == number { ($0.attempt as? TransportAttempt)?.handle(news) } }
      }
    }
  }

  private func begin(_ make: () throws(HTTPError) -> any Attempt) {
    do throws(HTTPError) {
      let attempt = try make()
      try attempt.start()
      // One that cannot start has no metrics of its own.
      self.attempt = attempt
    } catch {
      failure = error
      release()
      return end()
    }
    hasMoved()
    machine.startClock(at: engine.now)
  }

  /// Returns the bytes of the request's body. Nil if there is none; libcurl does not ask for an empty one.
  private func source() throws(HTTPError) -> (any BodySource)? {
    guard let body = chain.body, !body.isEmpty else { return nil }
    if let kept = keptSource.take(), kept.rewind() { return kept }
    return try body.open { [handle = engine.handle, id] in handle.run(id) { $0.proceed() } }
  }

  /// Keeps the body for the next attempt.
  ///
  /// - Returns: False if the part of the body that was sent cannot be made again.
  @discardableResult
  private func keepSource() -> Bool {
    guard let source = attempt?.source else { return true }
    keptSource = source.rewind() ? source : nil
    return keptSource != nil
  }

  /// Takes what the attempt has to say, and releases it.
  private func release() {
    if let attempt {
      keepMetrics(of: attempt)
      head = attempt.head ?? head
      trailers = attempt.trailers
    }
    attempt?.close()
    attempt = nil
    transaction?.writer = nil
  }

  private func keepMetrics(of attempt: any Attempt) {
    if machine.isFromCache {
      metrics.total = max(engine.now - began, .zero)
      metrics.cacheUse = transaction?.delivery?.use
    } else {
      metrics = attempt.metrics
    }
    metrics.furtherAttempts = attempts - 1
  }

  private func proceed() {
    guard machine.isAttached, !machine.isSuspended else { return }
    hasMoved()
    engine.watchDeadline(of: self)
    if let transaction, transaction.isDue { return decide(with: transaction) }
    attempt?.proceed()
  }

  private func resumeReading() {
    machine.isStalled = false
    proceed()
  }

  /// Handles the result of an attempt: a response, a redirect or a failure.
  private func conclude() {
    if let transaction, machine.verdict == .replaced, failure == nil { return replaceAnswer(transaction) }
    if case .skipped(let next) = machine.verdict, failure == nil, engine.events.isObserved { emit(.redirected(next)) }
    let mayRepeat = failure != nil && machine.adapts && keepSource()
    release()
    end(mayRepeat: mayRepeat)
  }

  /// Ends the attempt, unless an interceptor is asked about another one.
  private func end(mayRepeat: Bool = true) {
    guard let failure, mayRepeat, askAboutRetry(after: failure) else {
      return handle(.attemptEnded(hasFailed: failure != nil))
    }
  }

  /// Handles a failed attempt. Never called from within libcurl.
  private func failed(_ failure: HTTPError, _ attempt: any Attempt) {
    if let transaction, standsIn(transaction, for: failure) { return replaceAnswer(transaction) }
    self.failure = failureOfPath(failure, of: attempt)
    let waits = self.failure == nil
    let mayRepeat = waits || machine.adapts && keepSource()
    if waits {
      keptSource = attempt.source
      if attempt.hasSent != true { resetTotalTimeout() }
    }
    release()
    if waits { handle(.attemptWentOffline) } else { end(mayRepeat: mayRepeat) }
  }

  // MARK: The response

  /// Decides what follows the head of a response.
  private func decide(on head: ResponseHead) throws(HTTPError) {
    if engine.events.isObserved { emit(.received(head.response)) }
    if let transaction, transaction.isReplaced(head.response) {
      return machine.decide(.replaced)
    }
    transaction?.invalidate(by: head.response)
    switch head.canTriggerFollowUp ? try chain.step(after: head, allows: { curl.allows($0) }) : .accept {
    case .accept: if head.code < 400 || !askAboutRetry(after: head) { try accept(head) }
    case .follow(let next):
      machine.decide(.skipped(next))
      if let transaction, head.codings.isEmpty { transaction.store(head.response) }
    case .askRedirect(let question): ask(question) { $0.answered(redirect: $1) }
    case .askChallenge(let question): ask(question) { $0.answered(credential: $1) }
    }
  }

  private func accept(_ head: ResponseHead) throws(HTTPError) {
    machine.decide(.accepted)
    progress.totalToReceive = head.bodyLength
    try body.begin(
      head, to: chain.request,
      removesCodings: curl.settings.acceptsCompressedResponses && !chain.request.choosesCoding)
    transaction?.store(head.response)
  }

  private func accept(_ bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
    hasMoved()
    do throws(HTTPError) {
      let acceptance = try unsafe body.write(bytes) { part in
        unsafe transaction?.writer?.write(part)
        progress.received += Int64(part.count)
        report()
      }
      machine.isStalled = acceptance == .paused
      return acceptance
    } catch {
      failure = error
      return .refused
    }
  }

  /// Ends the body, which is complete. An earlier failure is kept.
  private func endBody() {
    guard failure == nil else { return }
    do throws(HTTPError) { try body.checkEnd() } catch { failure = error }
    if failure == nil { transaction?.writer?.finish() }
  }

  private func report() {
    status?.change(to: progress)
    onProgress?(progress)
  }

  /// Delivers the outcome. To be called once, when the transfer is over.
  func deliver() {
    let outcome: Outcome
    do throws(HTTPError) {
      let received = try body.end(failure)
      if let failure { throw failure }
      guard let head else { throw .noHead }
      let facts = ReplyFacts(
        head.response, to: chain.redirects > 0 ? chain.request : plan.request, metrics, earlier: earlierMetrics,
        trailers: trailers, onSerialized: engine.events.isObserved && body.isKeptInMemory ? observeSerialization() : nil
      )
      outcome = .success(HTTPReply(received, facts))
    } catch {
      var failure = error
      if failure.response == nil { failure.response = head?.response }
      failure.request = chain.request
      outcome = .failure(failure)
    }
    if engine.events.isObserved { emit(.finished(outcome.map(\.response), metrics, deliveredBody(of: outcome))) }
    status?.end()
    completion.fulfill((outcome, machine.isActive ? engine.observer : nil))
  }

  // MARK: Questions to the caller

  private func ask<Answer: Sendable>(
    _ question: @escaping @Sendable () async -> Answer, then: @escaping @Sendable (Transfer, Answer) -> Void
  ) {
    handle(.asked(.caller))
    wait(for: question, then: then)
  }

  /// Calls `then` with the answer, unless the transfer is over by then.
  private func wait<Answer: Sendable>(
    for question: @escaping @Sendable () async -> Answer, then: @escaping @Sendable (Transfer, Answer) -> Void
  ) {
    Task { [handle = engine.handle, id] in
      let answer = await question()
      handle.run(id) { then($0, answer) }
    }
  }

  private func answered(redirect next: HTTPRequest?) {
    guard let next else { return deliverResponse() }
    guard curl.allows(next) else { return fail(HTTPError(.badURL, "redirect")) }
    if engine.events.isObserved { emit(.redirected(next)) }
    failure = nil
    handle(.redirected(next))
  }

  private func answered(credential: Result<HTTPCredential?, HTTPError>) {
    switch credential {
    case .success(nil): deliverResponse()
    case .success(let credential?):
      failure = nil
      handle(.answered(credential))
    case .failure(let failure): fail(failure)
    }
  }

  private func deliverResponse() {
    do throws(HTTPError) {
      guard let head = attempt?.head ?? head else { throw .noHead }
      try accept(head)
      // If there is no body, the attempt has ended while somebody was asked.
      if !machine.isAttached, failure == nil { transaction?.writer?.finish() }
      handle(.accepted)
    } catch {
      fail(error)
    }
  }

  // MARK: Interceptors

  private var interceptors: [any RequestInterceptor] { options.interceptors + engine.interceptors }

  /// Asks the interceptors for the request of an attempt. ``attach()`` follows.
  private func adapt() {
    machine.startClock(at: engine.now)
    wait { [interceptors, first, info] in
      await interceptors.adapt(first, for: info)
    } then: {
      $0.adapted($1)
    }
  }

  private func adapted(_ answer: Result<HTTPRequest, HTTPError>) {
    switch answer {
    case .success(var request):
      plan.scope.confine(&request, own: plan.own)
      handle(.adapted(request))
    case .failure(let failure): fail(failure)
    }
  }

  /// Asks the interceptors whether another attempt follows a response.
  ///
  /// - Returns: False if no interceptor is asked.
  private func askAboutRetry(after head: ResponseHead) -> Bool {
    // Another attempt would get the same from the cache.
    guard mayRetry, transaction?.delivery == nil, attempt?.source?.canRewind ?? true else { return false }
    ask(question(response: head.response, error: nil)) { transfer, answer in
      switch answer.decision {
      case .retry(let delay): transfer.retry(after: delay, nil, answer.interceptor)
      case .next: transfer.deliverResponse()
      case .fail(let failure): transfer.fail(failure)
      }
    }
    return true
  }

  /// Asks the interceptors whether another attempt follows a failure.
  ///
  /// - Returns: False if no interceptor is asked. The task then ends with the failure.
  private func askAboutRetry(after failure: HTTPError) -> Bool {
    guard mayRetry, !machine.isAsking else { return false }
    if machine.verdict == .accepted, !body.canContinue { return false }
    handle(.attemptFailed)
    wait(for: question(response: nil, error: failure)) { transfer, answer in
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

  private func question(response: HTTPResponse?, error: HTTPError?)
    -> @Sendable () async -> [any RequestInterceptor].Answer
  {
    let failure = HTTPFailedAttempt(task: info, request: chain.request, response: response, error: error, retries: 0)
    return { [interceptors, retries] in await interceptors.retry(failure, after: retries) }
  }

  private func retry(after delay: Duration, _ error: HTTPError?, _ interceptor: Int) {
    if engine.events.isObserved { emit(.retrying(after: delay, error)) }
    do throws(HTTPError) {
      if machine.verdict == .accepted { try body.askForRest(in: &first) }
    } catch {
      return fail(error)
    }
    keepSource()
    failure = nil
    retries[interceptor, default: 0] += 1
    body.restart()
    progress.received = 0
    progress.totalToReceive = nil
    handle(.retried(after: delay))
  }

  // MARK: Deadlines

  /// The next time at which ``timePassed()`` is to be called; nil if there is none.
  var deadline: Duration? { machine.deadline }

  func timePassed() { handle(.timePassed(isQueued: attempt?.isBegun == false)) }

  /// Ends the attempt in which nothing has moved for too long. The cache may have a response that takes the place of the server's.
  private func endIdleness() {
    let failure = HTTPError(.timedOut, "request")
    guard let transaction, machine.verdict == .replaced || standsIn(transaction, for: failure) else {
      return fail(failure)
    }
    replaceAnswer(transaction)
  }

  /// Stops the time for the whole task if its first attempt, which has sent nothing, had no path.
  private func resetTotalTimeout() { if attempts <= 1 { machine.resetTotalTimeout() } }

  // MARK: Paths

  /// Handles the loss of some of the session's connections, perhaps with that of this task. Never called from within libcurl.
  func connectionsLost(_ lost: [(socket: CInt, connection: Connection)]) {
    guard machine.isAttached, let attempt, let peer = attempt.loses(lost) else { return }
    peers = [peer]
    guard options.retriesWhenReachable, mayRepeat(attempt) else {
      failure = failure ?? .lossOfPath(to: [peer], nil)
      return conclude()
    }
    keptSource = attempt.source
    handle(.connectionLost)
  }

  /// Returns the error of the task after an attempt has failed. Nil if it is repeated when there is a path.
  private func failureOfPath(_ failure: HTTPError, of attempt: any Attempt) -> HTTPError? {
    guard let path = engine.path else { return failure }
    guard engine.asksKernel, let tried = attempt.peers else {
      // Neither a path from another source nor a transport reports the state of single connections.
      let waits = options.retriesWhenReachable && !path.hasPath && failure.kind.maySpeakOfPath
      return waits && mayRepeat(attempt) ? nil : failure
    }
    switch failure.kind {
    case .notResolved: peers = []
    case _ where !tried.isEmpty: peers = tried
    default: break
    }
    let isLost = attempt.hasLostConnection || !engine.hasPath(to: peers)
    guard failure.kind.maySpeakOfPath, isLost else { return failure }
    let waits = options.reachabilityTimeout != nil || engine.graceEnd > engine.now
    guard mayRepeat(attempt), options.retriesWhenReachable || waits && attempt.hasSent == false else {
      // A connection that was lost in the middle may have been ended by the server.
      return failure.kind == .connectionLost ? failure : .lossOfPath(to: tried, failure)
    }
    return nil
  }

  /// Returns whether the request may be sent again. If it may have reached a server, repeating it must do no harm (RFC 9110,
  /// section 9.2.2).
  private func mayRepeat(_ attempt: any Attempt) -> Bool {
    guard !attempt.hasAnswer, attempt.source?.rewind() ?? true else { return false }
    return attempt.hasSent == false || chain.allowsRepetition
  }

  /// Whether there is a path for an attempt now.
  var hasPath: Bool { mayUsePath && engine.hasPath(to: peers) }

  /// Whether the options let the task use the path as it is.
  private var mayUsePath: Bool { engine.path.map { options.allows($0) } ?? true }

  /// The reason why the task can never begin; nil if there is none.
  private var refusalOfPath: HTTPError? {
    // A Unix socket needs no path.
    guard options.restrictsPath, engine.path == nil, curl.settings.unixSocketPath == nil else { return nil }
    return HTTPError(
      .badConfiguration, "wait for a path",
      message: "the options say which path the task may use; give the session a path, such as a NetworkMonitor")
  }

  private func waitForPath() {
    let patience = options.reachabilityTimeout ?? (options.retriesWhenReachable ? .seconds(60) : nil)
    machine.wait(until: patience.map { engine.now + $0.asDelay } ?? engine.graceEnd)
    engine.waitForPath(self)
  }

  /// Fails the task, because no path has come in time.
  private func endPathWait() {
    if !mayUsePath {
      let medium = engine.path?.medium.map { "goes over \($0.rawValue)" } ?? "is not known"
      return fail(
        HTTPError(
          .notReachable, "wait for a path",
          message: "the path \(medium), and requiredMedia or allowsExpensivePath excludes it"))
    }
    if options.reachabilityTimeout != nil || options.retriesWhenReachable {
      return fail(HTTPError(.notReachable, "wait for a path"))
    }
    fail(.lossOfPath(to: peers ?? [], nil))
  }

  /// Takes the addresses of the host that the attempt has asked for.
  func lookedUp(_ answer: NameLookups.Answer) { if machine.isAttached { attempt?.lookedUp(answer) } }
}

// MARK: - From the attempts

extension Transfer: AttemptDelegate {
  var now: Duration { engine.now }
  var isSuspended: Bool { machine.isSuspended }
  var isAsking: Bool { machine.isAsking }
  var isUndecided: Bool { machine.verdict == .undecided && !machine.isAsking }

  func hasMoved() { machine.moved(at: engine.now) }

  func sent(_ count: Int64) {
    progress.sent = count
    guard count > 0 else { return }
    hasMoved()
    report()
  }

  func received(_ head: ResponseHead?) -> Bool {
    do throws(HTTPError) {
      guard let head else { throw .noHead }
      try decide(on: head)
      return true
    } catch {
      failure = error
      return false
    }
  }

  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
    if machine.isSuspended || machine.isAsking { return .paused }
    switch machine.verdict {
    case .undecided: return .refused
    case .skipped, .replaced:
      hasMoved()
      skipped += bytes.count
      unsafe transaction?.writer?.write(bytes)
      return skipped <= Self.mostSkipped ? .taken : .refused
    case .accepted:
      // libcurl 8.14 delivers the rest after a refusal.
      if failure != nil { return .refused }
      return unsafe accept(bytes)
    }
  }

  func lookUp(_ host: Authority) { engine.lookUp(host, for: self) }

  func uses(_ addresses: [InternetAddress], of host: Authority) { engine.uses(addresses, of: host) }

  func dropLookup() { engine.dropLookup(of: self) }

  func ended(isComplete: Bool, _ failure: HTTPError?) {
    guard let attempt else { return }
    if isComplete, self.failure == nil {
      if isUndecided { _ = received(attempt.head) }
      endBody()
    }
    let isSkipping =
      switch machine.verdict {
      case .skipped, .replaced: true
      case .undecided, .accepted: false
      }
    guard let failure, self.failure == nil, !isSkipping else { return conclude() }
    failed(failure, attempt)
  }
}

// MARK: - The cache

/// The task looks into its session's cache before an attempt is sent, and stores the server's response.
///
/// For the machine, an attempt that the cache answers is like an attempt that is sent, without a time after which it ends. While the
/// cache looks, the machine is in the state in which somebody is asked.
extension Transfer {
  /// Returns whether the cache may have a response for which no path is needed. Interceptors may need a path.
  private static func looksBeforeItWaits(_ plan: RequestPlan, _ engine: SessionEngine, _ adapts: Bool) -> Bool {
    guard engine.cache != nil else { return false }
    return plan.options.cachePolicy == .requiresCache || !adapts && CacheFreshness.mayBeAnswered(plan.request)
  }

  /// Asks the cache. The request is sent after the cache has answered, unless the answer can be used.
  private func ask(_ cache: HTTPDiskCache) {
    let hasBody = chain.body.map { !$0.isEmpty } ?? false
    let wasUseless = transaction?.isUseless ?? false
    let transaction = CacheTransaction(
      cache, curl.settings.completed(chain.request), hasBody: hasBody, hasCredential: chain.credential != nil,
      onCaching: options.onCaching)
    self.transaction = transaction
    guard !wasUseless, let url = transaction.beginLookup(options.cachePolicy) else { return decide(with: transaction) }
    hasMoved()
    machine.startClock(at: engine.now)
    handle(.asked(.cache))
    cache.find(url, where: transaction.isWanted) { [handle = engine.handle, id, number = attempts] answer in
      handle.run(id) { transfer in
        guard transfer.attempts == number else { return }
        transfer.transaction?.found(answer)
        transfer.handle(.accepted)
      }
    }
  }

  private func decide(with transaction: CacheTransaction) {
    guard let fields = transaction.decide(options.cachePolicy) else { return answer(from: transaction) }
    if mustWaitForPath {
      if transaction.standIn() { return answer(from: transaction) }
      // This does not count as an attempt, because nothing is sent.
      attempts -= 1
      if let earlier = earlierMetrics.popLast() { metrics = earlier }
      resetTotalTimeout()
      return handle(.attemptWentOffline)
    }
    var request = chain.request
    for field in fields { request.headerFields[field.name] = field.value }
    send(request)
  }

  private var mustWaitForPath: Bool {
    guard engine.path != nil, options.waitsForPath else { return false }
    return attempts == 1 ? !hasPath : !mayUsePath
  }

  /// Makes an attempt that delivers the response of the cache.
  private func answer(from transaction: CacheTransaction) {
    guard let delivery = transaction.delivery else { return }
    if delivery.use == .hit || delivery.use == .miss { metrics = HTTPMetrics() }
    machine.answeredByCache()
    carry(
      chain.request, by: CachedTransport(response: delivery.response, answer: delivery.body),
      length: delivery.body?.bodyCount)
  }

  private func standsIn(_ transaction: CacheTransaction, for failure: HTTPError) -> Bool {
    guard machine.verdict == .undecided, attempt?.hasAnswer != true else { return false }
    return transaction.standIn(for: failure)
  }

  /// Continues the attempt with the response of the cache. If that response is unusable, the next attempt does not look for it.
  private func replaceAnswer(_ transaction: CacheTransaction) {
    release()
    guard transaction.delivery != nil else { return handle(.attemptRepeated) }
    forgetResponse()
    answer(from: transaction)
  }
}

// MARK: - Events

/// The events of a task for the observers of its session. They are only made if there is an observer: see
/// ``EventHub/isObserved``.
extension Transfer {
  func emit(_ kind: HTTPEvent.Kind) {
    engine.events.emit(HTTPEvent(task: info, request: plan.request, date: Date(), kind: kind))
  }

  private func deliveredBody(of outcome: Outcome) -> HTTPEvent.Body {
    switch outcome.map(\.value) {
    case .success(.data(let data)): HTTPEvent.Body(count: body.count, data: data, file: nil)
    case .success(.file(let file)): HTTPEvent.Body(count: body.count, data: nil, file: file)
    case .success(.none), .failure: HTTPEvent.Body(count: body.count, data: nil, file: nil)
    }
  }

  /// Returns what sends an event after the response was serialized elsewhere.
  private func observeSerialization() -> ReplyFacts.SerializationObserver {
    { [handle = engine.handle, info, request = plan.request] result, duration, serializer in
      let kind = HTTPEvent.Kind.serialized(result, after: duration, by: serializer)
      let event = HTTPEvent(task: info, request: request, date: Date(), kind: kind)
      handle.run { $0.events.emit(event) }
    }
  }

  /// Called before the machine gets the event.
  private func emitEvents(of event: TransferMachine.Event) {
    switch (event, machine.phase) {
    case (.suspended, .running(let attempt)) where !attempt.isSuspended: emit(.suspended)
    case (.suspended, .waiting), (.suspended, .delayed): emit(.suspended)
    case (.resumed, .running(let attempt)) where attempt.isSuspended: emit(.resumed)
    case (.resumed, .suspended) where attempts > 0: emit(.resumed)
    default: break
    }
  }
}
