import Netwatch
import NetwatchEventLoop

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
