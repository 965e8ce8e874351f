/// The place in which a task's callbacks run: `HTTPExecutor { queue.async(execute: $0) }`.
///
/// A callback runs concurrently with the code that made the call. So a completion can run before that call, such as `send`, `get`
/// or `resume()`, has returned. To be certain that it runs afterwards, use the caller's own actor or serial queue as the executor.
public struct HTTPExecutor: Sendable {
  /// A closure that runs one or more callbacks.
  public typealias Job = @Sendable () -> Void

  /// Runs callbacks on Swift's shared threads.
  public static let shared = HTTPExecutor { job in Task { job() } }

  /// Runs callbacks at once, on the thread on which the result arrives: usually the session's thread that runs the task. If the
  /// cache of a ``Downloader`` has the response, the completion runs on your own thread before `download` returns.
  ///
  /// This is the fastest executor, for short callbacks. While a callback runs, no session that shares the thread sends or
  /// receives. A request that the callback makes is sent after the callback returns.
  public static let immediate = HTTPExecutor(nil)

  /// Runs a job. Nil: jobs run at once, on the thread that has them.
  let run: (@Sendable (_ job: @escaping Job) -> Void)?

  /// Creates an executor from a closure.
  ///
  /// - Parameter run: Runs the job that it is given, now or later, on any thread.
  public init(_ run: @escaping @Sendable (_ job: @escaping Job) -> Void) { self.run = run }

  /// Creates an executor that runs callbacks on an actor. Callbacks can assume that they are isolated to it:
  /// `HTTPExecutor(on: MainActor.shared)`.
  public init(on actor: any Actor) { self.init { job in Task { await actor.carryOut(job) } } }

  private init(_ run: (@Sendable (_ job: @escaping Job) -> Void)?) { self.run = run }
}

extension Actor {
  fileprivate func carryOut(_ job: HTTPExecutor.Job) { job() }
}
