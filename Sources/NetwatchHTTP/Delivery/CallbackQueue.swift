import Netwatch
import NetwatchEventLoop
import Synchronization

/// Runs the callbacks of a task on its executor, one at a time and in order.
final class CallbackQueue: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var jobs: [Job] = []
    /// A report that was not delivered yet. A newer one replaces it.
    var progress: HTTPProgress?
    /// A report that came too soon after the last one. A newer one replaces it, and the next job is delivered together with it.
    var held: HTTPProgress?
    /// The earliest time of the next report.
    var nextReport = Duration.zero
    /// Whether a thread runs the queue, or will run it.
    var isRunning = false
  }

  private let state = Lock(State())
  /// Nil: callbacks run at once, on the thread that brings them or on one that already runs others.
  private let execute: (@Sendable (_ job: @escaping Job) -> Void)?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let interval: Duration
  private let now: @Sendable () -> Duration

  /// - Parameter now: A monotonic clock.
  init(_ options: HTTPTaskOptions, now: @escaping @Sendable () -> Duration) {
    execute = options.executor.run
    onProgress = options.onProgress
    interval = options.progressInterval.asDelay
    self.now = now
  }

  func report(_ progress: HTTPProgress) {
    guard onProgress != nil else { return }
    let now = now()
    let isDue = state.withLock { state in
      let isDue = now >= state.nextReport
      if isDue { (state.nextReport, state.progress) = (now + interval, progress) }
      state.held = isDue ? nil : progress
      return isDue
    }
    if isDue { flush() }
  }

  /// Runs `job` after a report of the newest progress.
  func append(_ job: @escaping Job) {
    enqueue(job)
    flush()
  }

  /// Adds a job as ``append(_:)`` does, but runs nothing before ``flush()``. For a caller that holds a lock.
  func enqueue(_ job: @escaping Job) {
    state.withLock { state in
      if let held = state.held.take() { state.progress = held }
      state.jobs.append(job)
    }
  }

  /// Starts to run the queue, unless it is running already.
  func flush() {
    let isFirst = state.withLock { state -> Bool in
      guard !state.isRunning, state.progress != nil || !state.jobs.isEmpty else { return false }
      state.isRunning = true
      return true
    }
    guard isFirst else { return }
    if let execute { execute { self.run() } } else { run() }
  }

  private func run() {
    while true {
      let (progress, jobs) = state.withLock { state in
        defer { (state.progress, state.jobs) = (nil, []) }
        if state.progress == nil, state.jobs.isEmpty { state.isRunning = false }
        return (state.progress, state.jobs)
      }
      if progress == nil, jobs.isEmpty { return }
      if let progress { onProgress?(progress) }
      for job in jobs { job() }
    }
  }
}
