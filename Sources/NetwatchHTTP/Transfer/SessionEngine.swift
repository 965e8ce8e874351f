import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A session on its loop's thread: all transfers, their connections and cookies.
final class SessionEngine {
  /// Handles that wait for the next request.
  private static let mostIdle = 64
  /// A handle that has read longer heads is not kept, because libcurl would keep them with it.
  private static let mostHeadBytes = 16 * 1_024

  let configuration: HTTPSessionConfiguration
  let observer: (any RequestObserver)?
  let path: (any PathSource)?
  let trust: TrustEvaluator
  let cookies: CurlShare
  let heads = HeadMemory()
  let bodies = BodyMemory()
  /// Asked once: libcurl would search the environment for each request, on this thread, while the app may be changing it.
  let proxies = CurlProxies()
  private var lastURL: CurlURL?
  /// The way to here from elsewhere.
  private(set) var port: EnginePort?
  private let loop: EventLoop
  private let ledger: DeliveryLedger
  private var multi: CurlMulti?
  private var transfers: [RequestID: Transfer] = [:]
  private(set) var idle: [CurlEasy] = []
  private var deadline: (timer: EventLoop.Timer, at: Duration)?
  private var waiting: [RequestID: EventLoop.Timer] = [:]
  private var pathSubscription: (any AnyObject & Sendable)?
  /// Nil without a path, and where netlink is not permitted.
  private var connections: ConnectionWatch?
  /// Nil until the first name is looked up.
  private var lookups: NameLookups?
  /// What libcurl may know the addresses of, with the time when it was told.
  private var namesInUse: [(host: Authority, addresses: [IPAddress], since: Duration)] = []
  /// To be looked up anew: libcurl is told with the next request.
  private var namesToForget: [Authority] = []
  private var isClosing = false
  private var turnTime: Duration?
  /// Ended in this turn of the loop. Handed over together: whoever is woken for the first finds the others too.
  private var finished: [Transfer?] = []
  /// The other one, so that neither is made anew.
  private var delivering: [Transfer?] = []
  /// To be woken together: one after the other, each would wake a thread that has gone to sleep again before the next, which
  /// costs two system calls a request. Empty between turns.
  private var waitingCallers: [WaitingCaller] = []
  /// Empty between turns, and kept so that it is not made anew.
  private var wishes: [EngineWish] = []

  init(
    on loop: EventLoop, _ configuration: HTTPSessionConfiguration, _ policy: SecurityPolicy,
    observer: (any RequestObserver)?, path: (any PathSource)?, _ ledger: DeliveryLedger
  ) throws(HTTPError) {
    self.configuration = configuration
    self.observer = observer
    self.path = path
    self.loop = loop
    self.ledger = ledger
    trust = try TrustEvaluator(policy)
    cookies = try CurlShare.open()
    multi = try CurlMulti.open(on: loop, connectionsPerHost: configuration.connectionsPerHost)
    if path != nil { followConnections() }
    port = EnginePort(loop.handle, LoopConfined(self, on: loop))
    loop.onTurnEnd = { [self] in turnEnded() }
    loop.onFailure = { [self] in loopFailed($0) }
  }

  /// The same for the whole of a turn of the loop.
  var now: Duration {
    if let turnTime { return turnTime }
    let now = KernelClock.monotonic.now
    turnTime = now
    return now
  }

  private func turnEnded() {
    multi?.settle()
    deliver()
    turnTime = nil
    if isClosing, transfers.isEmpty { shutDown() }
  }

  // MARK: Tasks

  func carryOutWishes() {
    var wishes: [EngineWish] = []
    swap(&wishes, &self.wishes)
    port?.take(&wishes)
    for wish in wishes {
      switch wish {
      case .start(let order, let isSuspended): start(order, isSuspended: isSuspended)
      case .resume(let id): transfer(id)?.handle(.resumed)
      case .suspend(let id): transfer(id)?.handle(.suspended)
      case .cancel(let id): transfer(id)?.fail(HTTPError(.cancelled, "cancel"))
      case .other(let job): job(self)
      }
    }
    wishes.removeAll(keepingCapacity: true)
    swap(&wishes, &self.wishes)
  }

  private func start(_ order: TransferOrder, isSuspended: Bool) {
    guard !isClosing else {
      order.complete(.failure(HTTPError(.invalidated, "request")), nil)?.wake()
      return
    }
    let transfer = Transfer(order, self)
    transfers[order.id] = transfer
    if !isSuspended { transfer.handle(.resumed) }
  }

  func transfer(_ id: RequestID) -> Transfer? { transfers[id] }

  /// A transfer is over, and is forgotten when it has delivered.
  func complete(_ transfer: Transfer) {
    transfers[transfer.order.id] = nil
    finished.append(transfer)
  }

  private func deliver() {
    guard !finished.isEmpty else { return }
    swap(&finished, &delivering)
    for index in delivering.indices {
      if let caller = delivering[index].take()?.deliver() { waitingCallers.append(caller) }
    }
    delivering.removeAll(keepingCapacity: true)
    for caller in waitingCallers { caller.wake() }
    waitingCallers.removeAll(keepingCapacity: true)
  }

  /// To come back to a transfer from another thread, or from within libcurl.
  func waker(of order: TransferOrder) -> TransferWaker { TransferWaker(port: port, id: order.id) }

  /// - Parameter cancels: whether tasks that run are ended with `invalidated`, or come to their own end.
  func invalidate(cancels: Bool) {
    isClosing = true
    guard cancels else { return }
    for transfer in transfers.values { transfer.fail(HTTPError(.invalidated, "request")) }
  }

  /// Nothing moves any more, which whoever waits has to learn.
  func loopFailed(_ error: SystemError) {
    isClosing = true
    let failure = HTTPError(.other, error.operation, code: error.code, underlying: error)
    for transfer in transfers.values { transfer.fail(failure) }
    turnEnded()
  }

  private func shutDown() {
    loop.onTurnEnd = nil
    loop.onFailure = nil
    idle = []
    multi = nil
    connections = nil
    lookups = nil
    port?.close()
    port = nil
    pathSubscription = nil
    if let deadline { loop.cancel(deadline.timer) }
    loop.stop()
    ledger.close()
  }

  // MARK: libcurl

  func takeEasy() throws(HTTPError) -> CurlEasy {
    if let easy = idle.popLast() { return easy }
    return try CurlEasy.open()
  }

  func giveBack(_ easy: CurlEasy) {
    easy.rest()
    if idle.count < Self.mostIdle, easy.headBytes <= Self.mostHeadBytes { idle.append(easy) }
  }

  func prepare(_ easy: CurlEasy) { multi?.prepare(easy) }

  func add(_ easy: CurlEasy) throws(HTTPError) { try multi?.add(easy) }

  func remove(_ easy: CurlEasy) { multi?.remove(easy) }

  /// Nil where there is no such place.
  func url(of request: HTTPRequest) -> CurlURL? {
    if let lastURL, lastURL.isOf(request) { return lastURL }
    lastURL = CurlURL(of: request)
    return lastURL
  }

  /// Whether the security policy lets a request go there.
  func allows(_ url: CurlURL) -> Bool { url.isSecure || !trust.policy.requiresTLS }

  func allows(_ request: HTTPRequest) -> Bool { url(of: request).map { allows($0) } ?? false }

  // MARK: Names

  /// The addresses come later, by ``Transfer/lookedUp(_:)``.
  func lookUp(_ host: Authority, for transfer: Transfer) {
    // libcurl was told a moment ago, and has not read it before it began another request.
    if let known = namesInUse.last(where: { $0.host == host && now - $0.since < .seconds(1) }) {
      return transfer.lookedUp(.success(known.addresses))
    }
    guard let port else { return }
    let lookups =
      lookups
      ?? NameLookups(port) { [unowned self] ids, answer in
        for id in ids { self.transfer(id)?.lookedUp(answer) }
      }
    self.lookups = lookups
    lookups.lookUp(host.host.lowercased(), for: transfer.order.id, at: now)
  }

  func dropLookup(of transfer: Transfer) { lookups?.drop(transfer.order.id, at: now) }

  func lookedUp(_ number: Int, _ answer: NameLookups.Answer) { lookups?.answered(number, answer, at: now) }

  /// libcurl is told the addresses of a host.
  func uses(_ addresses: [IPAddress], of host: Authority) {
    namesInUse.removeAll { now - $0.since > .seconds(60) || $0.host == host }
    namesInUse.append((host, addresses, now))
  }

  /// To be called for each request before libcurl gets it.
  func forgetNames(by easy: CurlEasy) {
    guard !namesToForget.isEmpty else { return }
    easy.forget(namesToForget)
    namesToForget = []
  }

  // MARK: Deadlines

  /// One timer for all: it is moved only for a transfer that wants to be looked at sooner.
  func watchDeadline(of transfer: Transfer) {
    guard let at = transfer.deadline else { return }
    if let deadline {
      guard at < deadline.at else { return }
      loop.cancel(deadline.timer)
    }
    deadline = (loop.schedule(at: at) { [unowned self] in lookAtDeadlines() }, at)
  }

  private func lookAtDeadlines() {
    deadline = nil
    turnTime = nil
    let now = now
    for transfer in transfers.values {
      if transfer.isLate(at: now) {
        transfer.fail(HTTPError(.timedOut, "request"))
      } else {
        watchDeadline(of: transfer)
      }
    }
  }

  // MARK: Paths

  func waitForPath(_ transfer: Transfer) {
    guard let path else { return transfer.handle(.pathArrived) }
    let id = transfer.order.id
    if pathSubscription == nil {
      let port = port
      pathSubscription = path.onPathChange { port?.submit { $0.pathChanged() } }
    }
    waiting[id] = loop.schedule(at: transfer.patienceEnd) { [unowned self] in self.transfer(id)?.losePatience() }
    // The subscription came first: a path that arrives now is not missed.
    if hasPath(to: transfer.destination) { transfer.handle(.pathArrived) }
  }

  func stopWaiting(_ transfer: Transfer) {
    if let timer = waiting.removeValue(forKey: transfer.order.id) { loop.cancel(timer) }
    if waiting.isEmpty { pathSubscription = nil }
  }

  private func pathChanged() {
    for id in waiting.keys {
      if let transfer = transfers[id], hasPath(to: transfer.destination) { transfer.handle(.pathArrived) }
    }
  }

  /// Whether the kernel is asked for the route to a peer, instead of ``path`` for all of them.
  var asksKernel: Bool { connections != nil && path?.isAboutInternetOnly ?? false }

  func hasPath(to destination: Transfer.Destination) -> Bool {
    guard let connections, asksKernel else { return path?.hasPath ?? true }
    return switch destination {
    case .unknown: true
    case .unresolved: path?.hasPath ?? true
    case .addresses(let addresses): !connections.isUnreachable(addresses)
    }
  }

  /// Until when what looks like a lost path may be a short loss; now, if the network has not changed lately.
  var graceEnd: Duration { connections?.graceEnd(at: now) ?? now }

  private func followConnections() {
    // Where netlink is not permitted, everything else works.
    guard let watch = try? ConnectionWatch(on: loop, grace: configuration.pathLossGrace.asDelay) else { return }
    watch.onLoss = { [unowned self] in lose($0) }
    watch.onChange = { [unowned self] in
      lookups?.networkChanged(at: now)
      pathChanged()
    }
    multi?.onConnections(
      opened: { [weak watch] in watch?.opened($0, $1) }, closed: { [weak watch] in watch?.closed($0) })
    connections = watch
  }

  /// The tasks come first: libcurl would take the end of a connection for the end of a body without a length.
  private func lose(_ lost: [(socket: CInt, Connection)]) {
    turnTime = nil
    namesToForget += namesInUse.map(\.host)
    namesInUse = []
    for transfer in transfers.values { transfer.connectionsLost(lost) }
    multi?.abort(lost.map(\.socket))
  }
}

/// Gets a transfer going again that has paused, from any thread. Does nothing when it is over.
struct TransferWaker: Sendable {
  let port: EnginePort?
  let id: RequestID

  func goOnReading() { port?.submit { [id] in $0.transfer(id)?.goOnReading() } }
  func goOnSending() { port?.submit { [id] in $0.transfer(id)?.proceed() } }
}
