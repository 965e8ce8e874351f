import Netwatch
import NetwatchEventLoop
import Synchronization

/// A task's callbacks, one at a time and in order, wherever its executor runs them.
final class CallbackQueue: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var jobs: [Job] = []
    /// Not delivered yet; a newer one takes its place.
    var progress: HTTPProgress?
    /// Comes too soon after the last report. A newer one takes its place; a job that is appended brings it along.
    var held: HTTPProgress?
    /// When the next report may be made.
    var nextReport = Duration.zero
    /// Somebody runs what is queued, or will.
    var isRunning = false
  }

  private let state = InlineLock(State())
  /// Nil: callbacks run at once, on the thread that brings them or on the one that runs others.
  private let execute: (@Sendable (_ job: @escaping Job) -> Void)?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?
  private let interval: Duration
  private let now: @Sendable () -> Duration

  /// - Parameter now: a clock that never goes back. Default: the kernel's monotonic one.
  init(_ options: HTTPTaskOptions, now: @escaping @Sendable () -> Duration = { KernelClock.monotonic.now }) {
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

  /// `job` runs behind a report of the newest progress.
  func append(_ job: @escaping Job) {
    enqueue(job)
    flush()
  }

  /// As ``append(_:)``, but nothing runs before ``flush()``: for a caller that holds a lock.
  func enqueue(_ job: @escaping Job) {
    state.withLock { state in
      if let held = state.held.take() { state.progress = held }
      state.jobs.append(job)
    }
  }

  /// Has what is queued run, unless that is under way.
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
