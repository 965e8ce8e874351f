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
    var isScheduled = false
  }

  private let state = InlineLock(State())
  /// Nil: callbacks run as they come, which is one at a time and in order.
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
    guard let onProgress else { return }
    let now = now()
    let isDue = state.withLock { state in
      let isDue = now >= state.nextReport
      if isDue { state.nextReport = now + interval }
      state.held = isDue ? nil : progress
      return isDue
    }
    guard isDue else { return }
    guard let execute else { return onProgress(progress) }
    schedule(on: execute) { $0.progress = progress }
  }

  /// `job` runs behind a report of the newest progress.
  func append(_ job: @escaping Job) {
    guard let execute else {
      if let held = state.withLock({ $0.held.take() }) { onProgress?(held) }
      return job()
    }
    schedule(on: execute) { state in
      if let held = state.held.take() { state.progress = held }
      state.jobs.append(job)
    }
  }

  private func schedule(
    on execute: @Sendable (_ job: @escaping Job) -> Void, _ change: (inout State) -> Void
  ) {
    let isFirst = state.withLock { state -> Bool in
      change(&state)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { execute { self.run() } }
  }

  private func run() {
    while true {
      let (progress, jobs, isOver) = state.withLock { state in
        let isOver = state.progress == nil && state.jobs.isEmpty
        if isOver { state.isScheduled = false }
        defer {
          state.progress = nil
          state.jobs = []
        }
        return (state.progress, state.jobs, isOver)
      }
      if isOver { return }
      if let progress { onProgress?(progress) }
      for job in jobs { job() }
    }
  }
}
