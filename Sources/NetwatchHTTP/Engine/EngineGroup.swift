import Netwatch
import NetwatchEventLoop
import Synchronization

/// The engines of a session, one on each of its threads. It chooses the engine of a request. All members can be used from any
/// thread.
final class EngineGroup: Sendable {
  /// Gets the outcome of a request. The request's activity ends when `end` is fulfilled or released.
  typealias Receiver = @Sendable (_ outcome: Transfer.Outcome, _ end: Promise<Void>) -> Void

  /// The engines, at least one.
  let handles: [EngineHandle]
  /// The base of the requests' ids. It is random, so that two sessions can share an observer.
  let firstID = UInt64.random(in: 0...UInt64.max)
  let pending: PendingCompletions
  /// Returns the time of the engines' clock.
  let now: @Sendable () -> Duration
  private let count = Atomic<UInt64>(0)
  /// The loads of the engines; nil for a single engine.
  private let loads: EngineLoads?
  /// The cookies. Nil when the session has ended.
  var cookies: SharedCookies? { pending.isClosed ? nil : sharedCookies }
  private let sharedCookies: SharedCookies

  /// - Throws: `badConfiguration`, or the error that prevents the start of a thread.
  init(
    on threads: HTTPThreads?, _ configuration: HTTPSessionConfiguration, _ policy: SecurityPolicy,
    observer: (any RequestObserver)?, path: (any PathSource)?
  ) throws(HTTPError) {
    let settings = try configuration.curlSettings()
    let overrides = try AddressOverrides(configuration.addressOverrides)
    let most = settings.mostParts
    let chosen = if let threads { threads.choose(most) } else { try HTTPThreads().choose(most) }
    let shares = settings.parts(chosen.count)
    let cookies = SharedCookies(accepts: configuration.acceptsCookies, sends: configuration.sendsCookies)
    let loads = chosen.count > 1 ? EngineLoads(shares.map(\.mostToOneHost)) : nil
    let pending = PendingCompletions(engines: chosen.count)
    var handles: [EngineHandle] = []
    do throws(HTTPError) {
      for (index, thread) in chosen.enumerated() {
        let parts = SessionEngine.Parts(
          configuration: configuration, policy: policy, overrides: overrides, observer: observer, path: path,
          cookies: cookies, pending: pending, settings: shares[index],
          load: loads.map { EngineLoads.Place(loads: $0, index: index) })
        handles.append(try thread.add(parts))
      }
    } catch {
      for handle in handles { handle.run { $0.invalidate(cancels: true) } }
      throw error
    }
    self.handles = handles
    sharedCookies = cookies
    self.pending = pending
    self.loads = loads
    now = { [clock = threads?.clock] in clock?.time ?? KernelClock.monotonic.now }
  }

  // MARK: Requests

  /// Returns the id of a new request, and the engine that it goes to.
  func next() -> (id: RequestID, engine: EngineHandle) {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    return (RequestID(firstID &+ number), handles[loads?.beginTask() ?? 0])
  }

  /// Returns the place of a request in the order of creation. Later requests have higher places.
  func place(of id: RequestID) -> UInt64 { (id.number ?? 0) &- firstID }

  /// Gives a request to its engine.
  ///
  /// - Parameters:
  ///   - place: The result of ``next()``.
  ///   - status: The public state of the task; nil if nobody has a task object.
  ///   - onProgress: Gets the progress, on the engine's thread. Nil if it is not wanted.
  ///   - makeSink: Makes the destination of the body. Nil: the body is kept in memory.
  ///   - receiver: Called once, on the engine's thread. If the session ends before, it is called in a Swift task with
  ///     `invalidated`, because a request that is dropped may be dropped anywhere.
  func start(
    _ plan: RequestPlan, _ place: (id: RequestID, engine: EngineHandle), _ status: TaskStatus?, isSuspended: Bool,
    onProgress: (@Sendable (HTTPProgress) -> Void)?, makeSink: RequestPlan.MakeSink?, _ receiver: @escaping Receiver
  ) {
    pending.add()
    let completion = Promise<Transfer.End?>(otherwise: nil) { [id = place.id, pending] end in
      status?.end()
      guard let end else {
        Task { receiver(.failure(.invalidated), Promise { pending.remove() }) }
        return
      }
      receiver(
        end.outcome,
        Promise {
          end.observer?.ended(id)
          pending.remove()
        })
    }
    place.engine.run { engine in
      engine.start(
        plan, place.id, status, isSuspended: isSuspended, onProgress: onProgress, makeSink: makeSink, completion)
    }
  }

  // MARK: All engines

  /// Runs `body` on each engine that has not ended.
  func forEach(_ body: @escaping @Sendable (SessionEngine) -> Void) { for handle in handles { handle.run(body) } }

  func invalidate(cancels: Bool) { forEach { $0.invalidate(cancels: cancels) } }
}

extension HTTPError {
  static var invalidated: HTTPError { HTTPError(.invalidated, "request") }
}

/// A thread for engines. It lives as long as this object, and then until its last engine has ended.
final class EngineThread: Sendable {
  private let loop: LoopHandle
  private let engines: LoopBound<Engines>

  /// - Parameter clock: The clock of deadlines, delays and progress; nil for the kernel's monotonic clock.
  /// - Throws: `other`, with the error that prevents the start of the thread.
  init(by clock: (any LoopClock)? = nil) throws(HTTPError) {
    do {
      (loop, engines) = try EventLoop.startInBackground(name: "netwatch-http", by: clock) { loop in
        (loop.handle, LoopBound(Engines(on: loop), on: loop))
      }
    } catch {
      throw HTTPError(.other, "start thread", underlying: error)
    }
  }

  deinit { loop.submit { [engines] loop in engines.value(on: loop)?.letGo() } }

  /// Makes an engine on the thread, which may take a moment.
  ///
  /// The call does not wait for the thread, because it may be made on that thread: by a callback of another session.
  ///
  /// - Throws: `other` if the thread has failed.
  func add(_ parts: SessionEngine.Parts) throws(HTTPError) -> EngineHandle {
    let handle = EngineHandle(on: loop)
    // A thread that fails drops this with the job.
    let answer = Promise(otherwise: false) { isMade in if !isMade { parts.pending.close() } }
    let isRunning = loop.submit { [engines] loop in
      if let engines = engines.value(on: loop) { answer.fulfill(engines.add(parts, handle, on: loop)) }
    }
    guard isRunning else {
      throw HTTPError(.other, "start session", message: "its thread has failed; make new HTTPThreads")
    }
    return handle
  }

  /// The engines on a thread. Belongs to its loop, and ends the loop when no engine is left and no further one can come.
  private final class Engines {
    private var engines: [SessionEngine] = []
    /// Whether another engine may be added.
    private var isHeld = true
    private let end: () -> Void

    init(on loop: EventLoop) {
      end = { [unowned loop] in
        loop.onTurnEnd = nil
        loop.onFailure = nil
        loop.stop()
      }
      loop.onTurnEnd = { [self] in for engine in engines { engine.turnEnded() } }
      loop.onFailure = { [self] error in
        for engine in engines { engine.loopFailed(error) }
        end()
      }
    }

    /// - Returns: false if there is no memory for an engine.
    func add(_ parts: SessionEngine.Parts, _ handle: EngineHandle, on loop: EventLoop) -> Bool {
      do throws(HTTPError) {
        let engine = try SessionEngine(parts, handle, on: loop) { [unowned self, unowned loop] engine in
          handle.set(nil, on: loop)
          remove(engine)
        }
        engines.append(engine)
        handle.set(engine, on: loop)
        return true
      } catch {
        return false
      }
    }

    private func remove(_ engine: SessionEngine) {
      engines.removeAll { $0 === engine }
      if engines.isEmpty, !isHeld { end() }
    }

    /// Ends the loop with its last engine, because no further engine comes.
    func letGo() {
      isHeld = false
      if engines.isEmpty { end() }
    }
  }
}

/// Threads on which sessions make their requests. Use them for sessions that share a thread, or for a session that uses
/// several.
///
/// ```swift
/// let shared = try HTTPThreads()
/// let api = try HTTPSessionManager(baseURL: base, threads: shared)
/// let images = try HTTPSessionManager(baseURL: mirror, threads: shared)
/// ```
///
/// A session without `HTTPThreads` starts one thread for its transfers, which is enough unless that thread keeps a processor busy.
/// Sessions share nothing but the threads. A callback that runs on a session's thread (see ``HTTPExecutor/immediate``) blocks
/// all sessions on that thread while it runs.
///
/// With several threads, a session gives each task to one of them, and the task stays there. The connection limits are those of the
/// whole session. Each thread has a share of them. A task goes to the thread that has the fewest tasks in proportion to its share,
/// and waits for a connection of that thread. Therefore a session uses at most as many threads as the smallest of its three
/// connection limits (per host, total, idle). Each thread has its own connections, also with HTTP/2. The cookies are shared by the
/// whole session.
///
/// The threads end when this object is released and each session on them has ended. A session does not retain this object.
public final class HTTPThreads: Sendable {
  /// The number of threads.
  public var count: Int { threads.count }
  private let threads: [EngineThread]
  /// The clock of the threads; nil for the kernel's monotonic clock.
  let clock: (any LoopClock)?
  /// The number of sessions that were given threads, modulo the number of threads.
  private let sessions = Lock(0)

  /// Starts the threads.
  ///
  /// - Parameter count: The number of threads, from 1 to 64. Default: 1.
  /// - Throws: `badConfiguration` for another number, or the error that prevents the start of a thread.
  public convenience init(count: Int = 1) throws(HTTPError) { try self.init(count: count, by: nil) }

  /// - Parameter clock: The clock of deadlines, delays and progress; nil for the kernel's monotonic clock. libcurl's own timers,
  ///   such as that of the next address, also go by it.
  init(count: Int = 1, by clock: (any LoopClock)?) throws(HTTPError) {
    self.clock = clock
    guard 1...64 ~= count else {
      throw HTTPError(
        .badConfiguration, "start threads", message: "\(count) is no number of threads; write 1 to 64")
    }
    var threads: [EngineThread] = []
    for _ in 0..<count { threads.append(try EngineThread(by: clock)) }
    self.threads = threads
  }

  /// Returns threads for a session. The first one is another thread each time, because a session that does one thing at a time
  /// uses no other.
  func choose(_ count: Int) -> [EngineThread] {
    let first = sessions.withLock { sessions in
      defer { sessions = (sessions + 1) % threads.count }
      return sessions
    }
    return (0..<min(count, threads.count)).map { threads[(first + $0) % threads.count] }
  }
}
