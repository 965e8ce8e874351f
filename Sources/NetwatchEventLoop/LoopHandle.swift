import CLinux
import Glibc
import Synchronization

/// A handle by which other threads use a running ``EventLoop``.
///
/// The handle may outlive the loop. Jobs that are submitted after the loop's end are dropped.
public final class LoopHandle: Sendable {
  /// A closure that runs on the loop's thread.
  public typealias Job = @Sendable (EventLoop) -> Void

  let wakeUp: FileDescriptor
  private let mailbox: Mailbox
  /// The thread that runs the loop; 0 before it runs and afterwards.
  private let runner = Atomic<UInt>(0)
  /// Whether the loop's own thread has submitted jobs, for which nothing wakes the loop. Only that thread uses this.
  private let ownJobs = Atomic(false)

  init() throws(SystemError) {
    wakeUp = try .result(of: "eventfd", eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK)))
    mailbox = Mailbox()
  }

  /// Runs `job` on the loop's thread, after the current work of the loop. Jobs keep their order. Can be called from any thread.
  ///
  /// - Returns: False if the loop has ended, so that `job` will not run.
  @discardableResult
  public func submit(_ job: @escaping Job) -> Bool {
    guard let isFirst = mailbox.append(job) else { return false }
    // The job before this one has woken the loop, or is about to.
    guard isFirst else { return true }
    // The loop checks for such jobs before it waits.
    if isOnLoopThread { ownJobs.store(true, ordering: .relaxed) } else { wake() }
    return true
  }

  /// Makes the loop take a turn. Can be called from any thread.
  package func wake() { eventfd_write(wakeUp.rawValue, 1) }

  /// Runs `job` on the loop's thread, and waits until its answer is fulfilled, within the job or later.
  ///
  /// - Parameter job: The closure that gets the loop and the answer to fulfill.
  /// - Returns: The value of the answer.
  /// - Throws: The error of the answer. Or a ``SystemError``: `ECANCELED` if the loop ends first or the answer is released
  ///   unfulfilled, `EDEADLK` on the loop's own thread.
  public func call<Value: Sendable>(
    _ job: @escaping @Sendable (EventLoop, OneShot<Result<Value, any Error>>) -> Void
  ) throws -> Value {
    guard !isOnLoopThread else {
      throw SystemError(operation: "call", code: EDEADLK)
    }
    let promise = Promise<Value>()
    guard submit(Self.job(answering: promise, job)) else { throw SystemError(operation: "call", code: ECANCELED) }
    return try promise.wait()
  }

  /// Made here, so that only the job holds the answer: a loop that ends releases both.
  private static func job<Value: Sendable>(
    answering promise: Promise<Value>, _ job: @escaping @Sendable (EventLoop, OneShot<Result<Value, any Error>>) -> Void
  ) -> Job {
    let lost = Result<Value, any Error>.failure(SystemError(operation: "call", code: ECANCELED))
    let answer = OneShot(otherwise: lost) { promise.fulfill($0) }
    return { job($0, answer) }
  }

  private static var currentThread: UInt { UInt(pthread_self()) }

  private var isOnLoopThread: Bool { runner.load(ordering: .relaxed) == Self.currentThread }

  /// Notes that the calling thread runs the loop from now on.
  func adoptCurrentThread() { runner.store(Self.currentThread, ordering: .relaxed) }

  /// Notes that no thread runs the loop until the next call of ``adoptCurrentThread()``.
  func leaveThread() { runner.store(0, ordering: .relaxed) }

  /// Whether jobs wait that no event reports.
  var hasOwnJobs: Bool { ownJobs.load(ordering: .relaxed) }

  func takeJobs() -> [Job] {
    ownJobs.store(false, ordering: .relaxed)
    return mailbox.takeAll()
  }

  /// Resets ``wakeUp``. Call this when it is readable.
  func acknowledgeWakeUp() {
    var count: eventfd_t = 0
    _ = unsafe eventfd_read(wakeUp.rawValue, &count)
  }

  func close() {
    // The system may give the same number to the next thread.
    leaveThread()
    mailbox.close()
  }
}

/// The jobs that wait for the loop. The lock is a pthread mutex, which the thread sanitizer understands.
///
/// `@unchecked`: every access to `jobs` and `isClosed` holds `mutex`.
@safe private final class Mailbox: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var jobs: [LoopHandle.Job] = []
  private var isClosed = false

  init() { unsafe pthread_mutex_init(mutex, nil) }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  /// Adds a job.
  ///
  /// - Returns: Whether it is the first waiting job; nil if the loop has ended.
  func append(_ job: @escaping LoopHandle.Job) -> Bool? {
    locked {
      guard !isClosed else { return nil }
      jobs.append(job)
      return jobs.count == 1
    }
  }

  func takeAll() -> [LoopHandle.Job] {
    locked {
      defer { jobs = [] }
      return jobs
    }
  }

  func close() {
    // Jobs are released outside the lock, because an object that they own may submit a job in its deinit.
    let dropped = locked {
      isClosed = true
      defer { jobs = [] }
      return jobs
    }
    _ = dropped
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }
}
