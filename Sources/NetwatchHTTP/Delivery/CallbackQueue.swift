import Netwatch

/// A task's callbacks, one at a time and in order, wherever its executor runs them.
final class CallbackQueue: Sendable {
  typealias Job = @Sendable () -> Void

  private struct State: Sendable {
    var jobs: [Job] = []
    /// Not delivered yet; a newer one takes its place.
    var progress: HTTPProgress?
    var isScheduled = false
  }

  private let state = Lock(State())
  private let executor: HTTPExecutor
  private let onProgress: (@Sendable (HTTPProgress) -> Void)?

  init(_ options: HTTPTaskOptions) {
    executor = options.executor ?? { job in Task { job() } }
    onProgress = options.onProgress
  }

  func report(_ progress: HTTPProgress) { schedule { $0.progress = progress } }

  func append(_ job: @escaping Job) { schedule { $0.jobs.append(job) } }

  private func schedule(_ change: (inout State) -> Void) {
    let isFirst = state.withLock { state -> Bool in
      change(&state)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { executor { self.run() } }
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
