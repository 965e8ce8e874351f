import Netwatch
import NetwatchEventLoop
import Synchronization

/// The engines of a session, one on each of its threads. It chooses the engine of a request. All members can be used from any
/// thread.
final class EngineGroup: Sendable {
  /// Gets the outcome of a request. The request's activity ends when `end` is fulfilled or released.
  typealias Receiver = @Sendable (_ outcome: Transfer.Outcome, _ end: OneShot<Void>) -> Void

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
    let completion = OneShot<Transfer.End?>(otherwise: nil) { [id = place.id, pending] end in
      status?.end()
      guard let end else {
        Task { receiver(.failure(.invalidated), OneShot { pending.remove() }) }
        return
      }
      receiver(
        end.outcome,
        OneShot {
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
