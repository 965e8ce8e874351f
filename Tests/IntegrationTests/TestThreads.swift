import Foundation
import Testing

/// The threads that integration tests run on.
///
/// A test waits for programs, and blocks its thread while it does. Swift's own threads are as many as the machine has processors:
/// on them, a test that waits would keep a processor idle.
final class TestThreads: TaskExecutor {
  static let shared = TestThreads(count: 4 * ProcessInfo.processInfo.activeProcessorCount)

  private let condition = NSCondition()
  /// The jobs that no thread has taken. Used only with the condition locked.
  nonisolated(unsafe) private var jobs: [UnownedJob] = []

  private init(count: Int) {
    for _ in 0..<count { Thread.detachNewThread { [self] in while true { run(nextJob()) } } }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    condition.withLock {
      unsafe jobs.append(job)
      condition.signal()
    }
  }

  private func nextJob() -> UnownedJob {
    condition.withLock {
      while unsafe jobs.isEmpty { condition.wait() }
      return unsafe jobs.removeFirst()
    }
  }

  private func run(_ job: UnownedJob) { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
}

/// Runs each test of a suite on a thread that it may block.
struct MayBlock: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(TestThreads.shared) { try await function() }
  }
}

extension Trait where Self == MayBlock {
  /// Runs each test on a thread that it may block.
  static var mayBlock: Self { MayBlock() }
}
