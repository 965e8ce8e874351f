import CLinux
import Glibc
import Synchronization

/// The way into a running ``EventLoop`` from any other thread.
///
/// It may outlive the loop: what is submitted after the loop's end is dropped.
public final class LoopHandle: Sendable {
  public typealias Job = @Sendable (EventLoop) -> Void

  let wakeUp: FileDescriptor
  private let mailbox: Mailbox
  /// The thread that runs the loop; 0 before it does, and afterwards.
  private let runner = Atomic<UInt>(0)
  /// Jobs of the loop's own thread have come, for which nobody wakes it. Touched on that thread alone.
  private let ownJobs = Atomic(false)

  init() throws(SystemError) {
    wakeUp = try .result(of: "eventfd", eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK)))
    mailbox = Mailbox()
  }

  /// Runs `job` on the loop's thread, after what it is doing now. Jobs keep their order.
  ///
  /// - Returns: false if the loop has ended, and `job` will not run.
  @discardableResult
  public func submit(_ job: @escaping Job) -> Bool {
    guard let isFirst = mailbox.append(job) else { return false }
    // The one before it has woken the loop, or is about to.
    guard isFirst else { return true }
    // The loop looks before it waits.
    if isOnLoopThread { ownJobs.store(true, ordering: .relaxed) } else { wake() }
    return true
  }

  /// Has the loop take a turn.
  package func wake() { eventfd_write(wakeUp.rawValue, 1) }

  /// Runs `job` on the loop's thread and waits until its answer is given, then or later.
  ///
  /// - Throws: what the answer says; `ECANCELED` if the loop ends first or nobody has the answer any more, `EDEADLK` on the
  ///   loop's own thread.
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

  /// Made here so that the job alone holds the answer: a loop that ends drops both.
  private static func job<Value: Sendable>(
    answering promise: Promise<Value>, _ job: @escaping @Sendable (EventLoop, OneShot<Result<Value, any Error>>) -> Void
  ) -> Job {
    let lost = Result<Value, any Error>.failure(SystemError(operation: "call", code: ECANCELED))
    let answer = OneShot(otherwise: lost) { promise.fulfill($0) }
    return { job($0, answer) }
  }

  private static var currentThread: UInt { UInt(pthread_self()) }

  private var isOnLoopThread: Bool { runner.load(ordering: .relaxed) == Self.currentThread }

  /// The thread that calls runs the loop from now on.
  func adoptCurrentThread() { runner.store(Self.currentThread, ordering: .relaxed) }

  /// No thread runs the loop until the next one adopts it.
  func leaveThread() { runner.store(0, ordering: .relaxed) }

  /// Whether jobs wait that no event tells of.
  var hasOwnJobs: Bool { ownJobs.load(ordering: .relaxed) }

  func takeJobs() -> [Job] {
    ownJobs.store(false, ordering: .relaxed)
    return mailbox.takeAll()
  }

  /// To be called when ``wakeUp`` is readable.
  func acknowledgeWakeUp() {
    var count: eventfd_t = 0
    _ = unsafe eventfd_read(wakeUp.rawValue, &count)
  }

  func close() {
    // The system may give the next thread the same number.
    leaveThread()
    mailbox.close()
  }
}

/// Jobs on their way to the loop. A pthread mutex, which the thread sanitizer understands.
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

  /// - Returns: whether it is the first job that waits; nil if the loop has ended.
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
    // Jobs are released outside the lock: what they own may submit in its deinit.
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
