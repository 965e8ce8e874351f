/// Where a task's callbacks run: `HTTPExecutor { queue.async(execute: $0) }`.
///
/// A callback runs beside the code that made the call, so it may run before the call has returned: a completion before `send`,
/// a verb or `resume()` returns. It never runs within the call. Only an executor that is busy with the caller, such as that of
/// the caller's own actor or queue, runs it afterwards for certain.
public struct HTTPExecutor: Sendable {
  public typealias Job = @Sendable () -> Void

  /// On Swift's shared threads.
  public static let shared = HTTPExecutor { job in Task { job() } }

  /// At once, on the thread that has the news: most often the one of the session's threads that has the task, never the thread of
  /// the call. The fastest, for callbacks that are short: while one runs, nothing is sent or received on that thread, by none of
  /// the sessions that share it. A request that it makes goes out when it has returned.
  public static let immediate = HTTPExecutor(nil)

  /// Nil: at once.
  let run: (@Sendable (_ job: @escaping Job) -> Void)?

  /// - Parameter run: runs what it is given, now or later, on any thread.
  public init(_ run: @escaping @Sendable (_ job: @escaping Job) -> Void) { self.run = run }

  /// On an actor, which callbacks may so assume to be isolated to: `HTTPExecutor(on: MainActor.shared)`.
  public init(on actor: any Actor) { self.init { job in Task { await actor.carryOut(job) } } }

  private init(_ run: (@Sendable (_ job: @escaping Job) -> Void)?) { self.run = run }
}

extension Actor {
  fileprivate func carryOut(_ job: HTTPExecutor.Job) { job() }
}
