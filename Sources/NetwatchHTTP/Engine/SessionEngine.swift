import CLibCurl
import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// The way to an engine from any thread, before the engine exists and after it has ended too. Does not keep the loop alive.
///
/// `@unchecked`: only jobs on the loop read and write the engine.
final class EngineHandle: @unchecked Sendable {
  private let loop: LoopHandle
  private var engine: SessionEngine?

  init(on loop: LoopHandle) { self.loop = loop }

  /// Takes note that the engine has begun, or has ended.
  ///
  /// - Parameter loop: The loop, which proves that the call is made on the loop's thread. Another loop changes nothing.
  func set(_ engine: SessionEngine?, on loop: EventLoop) { if loop.handle === self.loop { self.engine = engine } }

  /// Runs `body` on the engine's thread, after what was given to the handle before. Can also be called there. Drops `body` if there is
  /// no engine when its turn comes.
  func run(_ body: @escaping @Sendable (SessionEngine) -> Void) {
    loop.submit { [self] _ in if let engine { body(engine) } }
  }

  /// Runs `body` with a transfer on the engine's thread, unless the transfer is over by then. Can also be called from within
  /// libcurl.
  func run(_ id: RequestID, _ body: @escaping @Sendable (Transfer) -> Void) {
    run { engine in if let transfer = engine.transfer(id) { body(transfer) } }
  }

  func cancel(_ id: RequestID) { run(id) { $0.fail(HTTPError(.cancelled, "cancel")) } }
}

/// The part of a session on one thread: its transfers there, and what they wait for. A session with several threads has one
/// engine on each.
final class SessionEngine {
  /// The parts that an engine is made from, on the way to its thread.
  struct Parts: Sendable {
    let configuration: HTTPSessionConfiguration
    let policy: SecurityPolicy
    let overrides: AddressOverrides
    let observer: (any RequestObserver)?
    let path: (any PathSource)?
    /// Shared by all engines of the session.
    let cookies: SharedCookies
    /// Shared by all engines of the session.
    let pending: PendingCompletions
    /// The settings of libcurl, with the engine's share of the connections.
    let settings: CurlSettings
    /// The counter of the engine's tasks; nil if it is the session's only engine.
    let load: EngineLoads.Place?
  }

  let observer: (any RequestObserver)?
  let path: (any PathSource)?
  /// The way to this engine from other threads, and from within libcurl.
  let handle: EngineHandle
  private let loop: EventLoop
  private let pending: PendingCompletions
  /// The counter of this engine's tasks; nil for a session's only engine.
  private let load: EngineLoads.Place?
  private let leave: (SessionEngine) -> Void
  private(set) var curl: CurlMulti?
  private var transfers: [RequestID: Transfer] = [:]
  /// One timer for all deadlines.
  private lazy var deadline = LoopTimer(on: loop) { [unowned self] in lookAtDeadlines() }
  /// The transfers that wait for a path.
  private var waiting: Set<RequestID> = []
  let events: EventHub
  let interceptors: [any RequestInterceptor]
  /// The transport of all requests. Nil: libcurl.
  let transport: (any HTTPTransport)?
  /// The cache. Nil: every request goes to its server.
  let cache: HTTPDiskCache?
  private var pathSubscription: (any AnyObject & Sendable)?
  /// Watches the routes of connections. Nil without a path, and if netlink is not permitted.
  private var connections: ConnectionWatch?
  /// Looks names up. Nil until the first lookup.
  private var lookups: NameLookups?
  /// The hosts whose addresses libcurl was given and may still know, with the time and the ways to them.
  private var namesInUse: [(host: Authority, addresses: [InternetAddress], since: Duration, ways: [PeerRoute])] = []
  private let overrides: AddressOverrides
  private var isClosing = false
  /// The transfers that ended in this turn of the loop. They are delivered at its end, because a completion may begin and cancel
  /// others.
  private var finished: [Transfer] = []

  /// - Parameter leave: Called when the engine has ended.
  init(
    _ parts: Parts, _ handle: EngineHandle, on loop: EventLoop, leave: @escaping (SessionEngine) -> Void
  ) throws(HTTPError) {
    self.handle = handle
    let configuration = parts.configuration
    observer = parts.observer
    // A Unix socket is reachable without a network.
    path = configuration.unixSocketPath == nil ? parts.path : nil
    overrides = parts.overrides
    self.loop = loop
    pending = parts.pending
    load = parts.load
    self.leave = leave
    events = EventHub(configuration.eventObservers)
    interceptors = configuration.interceptors
    transport = configuration.transport
    cache = configuration.cache
    curl = try CurlMulti(
      on: loop, parts.settings, configuration.sessionTrust(parts.policy),
      cookies: configuration.acceptsCookies || configuration.sendsCookies ? parts.cookies : nil)
    curl?.onAttempts { [unowned self] in hasNextAddress($0) }
    if path != nil { followConnections(configuration.pathLossGrace.asDelay) }
  }

  /// The current time of the loop's clock.
  var now: Duration { loop.now }

  /// Ends a turn of the loop: all events that were ready at once have been handled.
  func turnEnded() {
    curl?.fireDue()
    deliver()
    if isClosing, transfers.isEmpty { shutDown() }
  }

  // MARK: Tasks

  func start(
    _ plan: RequestPlan, _ id: RequestID, _ status: TaskStatus?, isSuspended: Bool,
    onProgress: (@Sendable (HTTPProgress) -> Void)?, makeSink: RequestPlan.MakeSink?,
    _ completion: Promise<Transfer.End?>
  ) {
    guard !isClosing, let curl else { return completion.fulfill((.failure(.invalidated), observer: nil)) }
    let transfer = Transfer(plan, id, self, curl, status, onProgress, makeSink, completion)
    transfers[id] = transfer
    if events.isObserved { transfer.emit(.created) }
    if !isSuspended { transfer.resume() }
  }

  func transfer(_ id: RequestID) -> Transfer? { transfers[id] }

  /// Returns the tasks that are not over, in no order.
  func tasks(_ kind: HTTPTaskInfo.Kind?) -> [(id: RequestID, plan: RequestPlan, status: TaskStatus)] {
    transfers.values.filter { kind == nil || $0.plan.kind == kind }.map { ($0.id, $0.plan, $0.publicStatus()) }
  }

  func cancelAll() {
    for transfer in transfers.values { transfer.fail(HTTPError(.cancelled, "cancel")) }
  }

  /// Takes note that a transfer is over. It is forgotten after its delivery.
  func complete(_ transfer: Transfer) {
    transfers[transfer.id] = nil
    load?.taskEnded()
    finished.append(transfer)
  }

  private func deliver() {
    let ended = finished
    finished = []
    for transfer in ended { transfer.deliver() }
  }

  /// - Parameter cancels: Whether running tasks end with `invalidated` at once. If not, they run to their own end.
  func invalidate(cancels: Bool) {
    isClosing = true
    guard cancels else { return }
    for transfer in transfers.values { transfer.fail(.invalidated) }
  }

  /// Fails all transfers, because the loop has failed and nothing moves any more.
  func loopFailed(_ error: SystemError) {
    isClosing = true
    let failure = HTTPError(.other, error.operation, code: error.code, domain: .system, underlying: error)
    for transfer in transfers.values { transfer.fail(failure) }
    turnEnded()
  }

  private func shutDown() {
    guard curl != nil else { return }
    curl = nil
    connections = nil
    lookups = nil
    pathSubscription = nil
    events.end()
    deadline.stop()
    pending.close()
    leave(self)
  }

  // MARK: Names

  /// Looks up the addresses of a host. They come later, by ``Transfer/lookedUp(_:)``.
  func lookUp(_ host: Authority, for transfer: Transfer) {
    if let addresses = overrides.addresses(of: host) { return transfer.lookedUp(.success(addresses)) }
    // libcurl got the addresses a moment ago, but has not read them before it began another request.
    if let known = namesInUse.last(where: { $0.host == host && now - $0.since < .seconds(1) }) {
      return transfer.lookedUp(.success(known.addresses))
    }
    let lookups = lookups ?? makeLookups()
    self.lookups = lookups
    lookups.lookUp(host.host.lowercased(), for: transfer.id, at: now)
  }

  private func makeLookups() -> NameLookups {
    NameLookups(on: loop) { [handle] number, answer in
      handle.run { $0.lookups?.answered(number, answer, at: $0.now) }
    } answered: { [unowned self] ids, answer in
      for id in ids { transfer(id)?.lookedUp(answer) }
    }
  }

  func dropLookup(of transfer: Transfer) { lookups?.drop(transfer.id, at: now) }

  /// Takes note that libcurl gets the addresses of a host.
  func uses(_ addresses: [InternetAddress], of host: Authority) {
    namesInUse.removeAll { now - $0.since > .seconds(60) || $0.host == host }
    namesInUse.append((host, addresses, now, connections?.ways(to: addresses) ?? []))
  }

  /// Returns whether each name that has the peer's address and port has another address of the same family after it.
  private func hasNextAddress(_ peer: SocketAddress) -> Bool {
    let names = namesInUse.filter { $0.host.port == Int(peer.port) && $0.addresses.contains(peer.address) }
    return !names.isEmpty
      && names.allSatisfy { $0.addresses.last { $0.family == peer.address.family } != peer.address }
  }

  // MARK: Deadlines

  /// Moves the timer, but only if the transfer has an earlier deadline.
  func watchDeadline(of transfer: Transfer) {
    guard let at = transfer.deadline, deadline.deadline.map({ at < $0 }) ?? true else { return }
    deadline.set(at: at)
  }

  private func lookAtDeadlines() {
    let now = now
    let due = transfers.values.compactMap { transfer in transfer.deadline.map { (transfer, $0) } }.filter { $1 <= now }
    for (transfer, _) in due.sorted(by: { $0.1 < $1.1 }) { transfer.timePassed() }
    for transfer in transfers.values { watchDeadline(of: transfer) }
  }

  // MARK: Paths

  func waitForPath(_ transfer: Transfer) {
    guard let path else { return transfer.handle(.pathArrived) }
    if pathSubscription == nil {
      pathSubscription = path.onPathChange { [handle] in handle.run { $0.pathChanged() } }
    }
    waiting.insert(transfer.id)
    // The subscription was made first, so that a path that arrives now is not missed.
    if transfer.hasPath { transfer.handle(.pathArrived) }
  }

  func stopWaiting(_ transfer: Transfer) {
    waiting.remove(transfer.id)
    if waiting.isEmpty { pathSubscription = nil }
  }

  private func pathChanged() {
    for id in waiting {
      if let transfer = transfers[id], transfer.hasPath { transfer.handle(.pathArrived) }
    }
  }

  /// Whether the kernel is asked for the route to each peer, instead of ``path`` for all of them.
  var asksKernel: Bool { connections != nil && path?.isAboutInternetOnly ?? false }

  /// Returns whether there is a path to a server.
  ///
  /// - Parameter peers: The addresses of the server or of its proxy. Nil if they are not known; empty if the name has no
  ///   address.
  func hasPath(to peers: [InternetAddress]?) -> Bool {
    guard let connections, asksKernel else { return path?.hasPath ?? true }
    guard let peers else { return true }
    return peers.isEmpty ? path?.hasPath ?? true : !connections.isUnreachable(peers)
  }

  /// The time until which a path that seems lost may only be interrupted. It is now if the network has not changed lately.
  var graceEnd: Duration { connections?.graceEnd(at: now) ?? now }

  private func followConnections(_ grace: Duration) {
    // If netlink is not permitted, everything else works.
    guard let watch = try? ConnectionWatch(on: loop, grace: grace) else { return }
    watch.onLoss = { [unowned self] in lose($0) }
    watch.onChange = { [unowned self] in
      lookups?.networkChanged(at: now)
      forgetStrayNames()
      pathChanged()
    }
    curl?.onConnections(
      opened: { [weak watch] in watch?.opened($0, $1) }, closed: { [weak watch] in watch?.closed($0) })
    connections = watch
  }

  /// Makes libcurl forget the hosts to which another link leads now: on another network, they may have other addresses.
  private func forgetStrayNames() {
    guard let connections else { return }
    namesInUse.removeAll { now - $0.since > .seconds(60) }
    let strays = namesInUse.filter { connections.ways(to: $0.addresses) != $0.ways }.map(\.host)
    guard !strays.isEmpty else { return }
    curl?.forget(strays)
    namesInUse.removeAll { strays.contains($0.host) }
  }

  /// The tasks come first, because libcurl would take the end of a connection for the end of a body without a length.
  private func lose(_ lost: [(socket: CInt, Connection)]) {
    curl?.forget(namesInUse.map(\.host))
    namesInUse = []
    for transfer in transfers.values { transfer.connectionsLost(lost) }
    curl?.abort(lost.map(\.socket))
  }
}

/// Counts the tasks of a session whose completion has not run yet.
final class PendingCompletions: Sendable {
  private typealias State = (count: Int, engines: Int, waiters: [@Sendable () -> Void])

  private let state: Lock<State>

  /// - Parameter engines: The number of engines that take tasks.
  init(engines: Int) { state = Lock((0, engines, [])) }

  func add() { state.withLock { $0.count += 1 } }

  func remove() { finish { $0.count -= 1 } }

  /// Adds one until the result is fulfilled or released: for completions that several tasks lead to.
  func hold() -> Promise<Void> {
    add()
    return Promise { [self] in remove() }
  }

  /// Whether no engine takes tasks any more.
  var isClosed: Bool { state.withLock { $0.engines == 0 } }

  /// Records that one of the engines no longer takes tasks.
  func close() { finish { $0.engines -= 1 } }

  /// Calls `body` when no task is left and none can follow.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) { finish { $0.waiters.append(body) } }

  private func finish(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      change(&state)
      guard state.engines == 0, state.count == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }
}

/// The number of tasks on each engine of a session with several engines. All members can be used from any thread.
final class EngineLoads: Sendable {
  /// One of the engines.
  struct Place: Sendable {
    let loads: EngineLoads
    let index: Int

    /// Counts the end of a task of this engine.
    func taskEnded() { loads.counts.withLock { $0[index] -= 1 } }
  }

  /// The number of connections that each engine may have, at least 1.
  private let shares: [Int]
  private let counts: Lock<[Int]>

  init(_ shares: [Int]) {
    self.shares = shares
    counts = Lock(shares.map { _ in 0 })
  }

  /// Chooses the engine of a new task: the one with the fewest tasks for its share of the connections, or the first of several.
  /// Therefore tasks that follow each other go to the same engine, which still has the connection of the last task.
  func beginTask() -> Int {
    counts.withLock { counts in
      var best = 0
      for index in counts.indices.dropFirst() where counts[index] * shares[best] < counts[best] * shares[index] {
        best = index
      }
      counts[best] += 1
      return best
    }
  }
}
