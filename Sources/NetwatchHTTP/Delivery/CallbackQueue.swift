import Netwatch
import Synchronization

/// A task's callbacks, one at a time and in order, wherever its executor runs them.
final class CallbackQueue: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var jobs: [Job] = []
    /// Not delivered yet; a newer one takes its place.
    var progress: HTTPProgress?
    var isScheduled = false
  }

  private let state = InlineLock(State())
  /// Nil: callbacks run as they come, which is one at a time and in order.
  private let execute: (@Sendable (_ job: @escaping Job) -> Void)?
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?

  init(_ options: HTTPTaskOptions) {
    execute = options.executor.run
    onProgress = options.onProgress
  }

  func report(_ progress: HTTPProgress) {
    guard let execute else {
      onProgress?(progress)
      return
    }
    schedule(on: execute) { $0.progress = progress }
  }

  func append(_ job: @escaping Job) {
    guard let execute else { return job() }
    schedule(on: execute) { $0.jobs.append(job) }
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
