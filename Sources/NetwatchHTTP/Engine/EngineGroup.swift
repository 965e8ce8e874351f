import Netwatch
import Synchronization

/// The engines of a session, one on each of its threads. It chooses the engine of a task, and sends commands to all engines.
/// All members can be used from any thread.
final class EngineGroup: Sendable {
  /// The inboxes of the engines, at least one.
  let inboxes: [Inbox<EngineCommand>]
  /// The base of the tasks' ids. It is random, so that two sessions can share an observer.
  let firstID: UInt64
  let pending: PendingCompletions
  private let count = Atomic<UInt64>(0)
  /// The loads of the engines; nil for a single engine.
  private let loads: EngineLoads?
  /// The cookies; nil when no engine is left.
  private weak let cookies: CurlShare?

  /// - Throws: `badConfiguration`, or the error that prevents the start of a thread.
  init(
    on threads: HTTPThreads?, _ configuration: HTTPSessionConfiguration, _ policy: SecurityPolicy,
    observer: (any RequestObserver)?, path: (any PathSource)?
  ) throws(HTTPError) {
    let settings = try configuration.curlSettings()
    let overrides = try AddressOverrides(configuration.addressOverrides)
    let most = settings.mostParts
    let chosen = if let threads { threads.choose(most) } else { try HTTPThreads().choose(most) }
    let parts = settings.parts(chosen.count)
    let cookies = try CurlShare(isLocked: chosen.count > 1)
    let loads = chosen.count > 1 ? EngineLoads(parts.map(\.mostToOneHost)) : nil
    let pending = PendingCompletions(engines: chosen.count)
    let inboxes = chosen.map { _ in Inbox<EngineCommand>() }
    self.cookies = cookies
    self.pending = pending
    self.loads = loads
    self.inboxes = inboxes
    firstID = .random(in: 0...UInt64.max)
    for (index, thread) in chosen.enumerated() {
      let plan = EnginePlan(
        configuration: configuration, policy: policy, overrides: overrides, observer: observer.map { Shared($0) },
        path: path, cookies: cookies, pending: pending, settings: parts[index],
        load: loads.map { EngineLoads.Place(loads: $0, index: index) })
      do throws(HTTPError) {
        try thread.add(plan, inboxes[index])
      } catch {
        invalidate(cancels: true)
        throw error
      }
    }
  }

  // MARK: Tasks

  /// Returns the id of a new task, which also tells the engine of the task.
  func nextID() -> RequestID {
    let number = count.wrappingAdd(1, ordering: .relaxed).newValue
    guard let loads else { return RequestID(firstID &+ number) }
    return RequestID(firstID &+ number &* UInt64(inboxes.count) &+ UInt64(loads.beginTask()))
  }

  /// Returns the inbox of the engine that has a task.
  func inbox(of id: RequestID) -> Inbox<EngineCommand> {
    loads == nil ? inboxes[0] : inboxes[Int(place(of: id) % UInt64(inboxes.count))]
  }

  /// Returns the place of a task in the order of creation. Later tasks have higher places.
  func place(of id: RequestID) -> UInt64 { (id.number ?? 0) &- firstID }

  // MARK: All engines

  /// Runs `body` on each engine that has not ended.
  func forEach(_ body: @escaping @Sendable (SessionEngine) -> Void) {
    for inbox in inboxes { inbox.send(.run(body)) }
  }

  func invalidate(cancels: Bool) { forEach { $0.invalidate(cancels: cancels) } }

  /// Runs `body`: on the engine if there is only one, and on the calling thread if there are several. A task that begins
  /// afterwards finds the changes. Drops `body` if the session has ended.
  func withCookies(_ body: @escaping @Sendable (CurlShare) -> Void) {
    guard loads != nil else { return inboxes[0].send(.run { body($0.cookies) }) }
    // The last engine may not have been released yet.
    if !pending.isClosed, let cookies { body(cookies) }
  }
}
