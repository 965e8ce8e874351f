import CLinux
import Netwatch
import NetwatchLibC
import Synchronization

/// An epoll loop on one thread: descriptors, timers, signals, and jobs from other threads.
///
/// A loop and everything that its handlers use belong to the thread that runs it. The loop is not `Sendable`, so the compiler
/// enforces this. Other threads use ``handle``. Nothing is allocated while events come in.
@safe public final class EventLoop {
  /// The operations that a descriptor is ready for.
  public struct Readiness: OptionSet, Hashable, Sendable {
    /// The bits of epoll.
    public let rawValue: UInt32
    /// Creates a set from bits of epoll.
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The descriptor can be read without waiting.
    public static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    /// The descriptor can be written without waiting.
    public static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other side is gone, or the descriptor has failed. This is always reported, even if nothing was asked for.
    public static let hungUp = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    /// Whether the descriptor has hung up or failed. One of the two is enough; `contains` would need both.
    public var hasHungUp: Bool { !isDisjoint(with: .hungUp) }
  }

  /// A watched descriptor. Pass it to ``EventLoop/remove(_:)`` before the descriptor is closed.
  public struct Registration: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32
  }

  /// A place for a descriptor. It is used again, with another generation.
  private struct Slot {
    var descriptor: CInt = -1
    var generation: UInt32 = 0
    var handler: ((Readiness) -> Void)?
  }

  private static let eventsPerWait = 256

  /// The handle by which other threads use the loop.
  public let handle: LoopHandle
  let epoll: FileDescriptor
  /// The clock of the timers; nil for the kernel's monotonic clock.
  private let clock: (any LoopClock)?
  private let timer: FileDescriptor
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var timers = TimerQueue()
  private var armedDeadline: Duration?
  /// The buffer that the kernel fills in each turn.
  private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: EventLoop.eventsPerWait)
  private var isStopping = false
  private var isAbandoned = false
  /// The closures for the end of this turn.
  private var endings: [() -> Void] = []
  /// The closure that is called when everything that was ready at once has been handled. Changes within a turn are one change.
  public var onTurnEnd: (() -> Void)?
  /// The closure that is called when the loop fails, before ``run()`` throws the same error.
  public var onFailure: ((SystemError) -> Void)?

  /// Creates a loop. Throws a ``SystemError`` if the system has no descriptor left.
  public convenience init() throws(SystemError) { try self.init(by: nil) }

  /// Creates a loop whose timers go by a clock.
  ///
  /// - Parameter clock: The clock; nil for the kernel's monotonic clock.
  /// - Throws: A ``SystemError`` if the system has no descriptor left.
  package init(by clock: (any LoopClock)?) throws(SystemError) {
    self.clock = clock
    handle = try LoopHandle()
    epoll = try .result(of: "epoll_create1", epoll_create1(CInt(EPOLL_CLOEXEC)))
    timer = try .result(
      of: "timerfd_create", timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC | TFD_NONBLOCK)))
    try watch(handle.wakeUp.rawValue, for: .readable) { [unowned self] _ in
      handle.acknowledgeWakeUp()
      runJobs()
    }
    try watch(timer.rawValue, for: .readable) { [unowned self] _ in
      var expirations: UInt64 = 0
      _ = unsafe read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size)
      fireTimers()
    }
    clock?.drive { [handle] in handle.submit { $0.fireTimers() } }
  }

  deinit {
    if !isAbandoned { handle.close() }
    unsafe events.deallocate()
  }

  // MARK: Descriptors

  /// Calls `handler` whenever `descriptor` is ready for `interest`, or has hung up.
  ///
  /// The watch is level triggered. An empty `interest` waits only for the hang-up.
  ///
  /// - Parameters:
  ///   - descriptor: The descriptor, which must stay open until the registration is removed.
  ///   - interest: The operations to wait for.
  ///   - handler: The closure that is called on the loop's thread, with what the descriptor is ready for.
  /// - Returns: The registration of the descriptor.
  /// - Throws: A ``SystemError``; its code is `EPERM` for a descriptor that is always ready and has no other side, such as a
  ///   regular file or /dev/null.
  @discardableResult
  public func watch(
    _ descriptor: CInt, for interest: Readiness, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Registration {
    let slot = freeSlots.popLast() ?? UInt32(slots.count)
    if slot == slots.count { slots.append(Slot()) }
    let registration = Registration(slot: slot, generation: slots[Int(slot)].generation)
    do throws(SystemError) {
      try control(EPOLL_CTL_ADD, descriptor, interest, registration)
    } catch {
      freeSlots.append(slot)
      throw error
    }
    slots[Int(slot)].descriptor = descriptor
    slots[Int(slot)].handler = handler
    return registration
  }

  /// Changes the operations that a watched descriptor waits for. A removed registration is ignored.
  public func change(_ registration: Registration, to interest: Readiness) throws(SystemError) {
    guard isCurrent(registration) else { return }
    try control(EPOLL_CTL_MOD, slots[Int(registration.slot)].descriptor, interest, registration)
  }

  /// Stops watching a descriptor. The handler is not called again, even for an event that is already known.
  public func remove(_ registration: Registration) {
    guard isCurrent(registration) else { return }
    let slot = Int(registration.slot)
    if !isAbandoned { epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, slots[slot].descriptor, nil) }
    slots[slot].handler = nil
    slots[slot].generation &+= 1
    freeSlots.append(registration.slot)
  }

  /// Stops watching all descriptors, including those of timers and of jobs from other threads.
  package func removeAll() {
    for slot in slots.indices where slots[slot].handler != nil {
      remove(Registration(slot: UInt32(slot), generation: slots[slot].generation))
    }
  }

  /// Leaves the kernel's objects to the process that created this loop. Call this in a child of fork(2), and then only release
  /// the loop. If the child stopped watching, the parent would get no more events, because both share epoll and timer.
  package func abandon() { isAbandoned = true }

  private func isCurrent(_ registration: Registration) -> Bool {
    let slot = slots[Int(registration.slot)]
    return slot.generation == registration.generation && slot.handler != nil
  }

  private func control(
    _ operation: CInt, _ descriptor: CInt, _ interest: Readiness, _ registration: Registration
  ) throws(SystemError) {
    var event = unsafe epoll_event()
    unsafe event.events = interest.rawValue
    unsafe event.data.u64 = UInt64(registration.generation) << 32 | UInt64(registration.slot)
    guard unsafe epoll_ctl(epoll.rawValue, operation, descriptor, &event) == 0 else { throw .last("epoll_ctl") }
  }

  // MARK: Timers

  /// The current time of the clock that the timers go by: the kernel's monotonic clock, unless the loop was created with another.
  package var now: Duration { clock?.time ?? KernelClock.monotonic.now }

  /// The earliest deadline of the timers; nil if none is set.
  package var nextDeadline: Duration? { timers.nextDeadline }

  /// Calls `body` once, at `deadline` or soon after. A ``LoopTimer`` can also be stopped.
  ///
  /// - Parameter deadline: The time on the kernel's monotonic clock, or on the clock that the loop was created with.
  public func schedule(at deadline: Duration, _ body: @escaping () -> Void) {
    _ = replaceTimer(nil, at: deadline, body)
  }

  /// Calls `body` once, after `delay` or soon after that.
  package func schedule(after delay: Duration, _ body: @escaping () -> Void) {
    schedule(at: now + delay, body)
  }

  /// Replaces a timer.
  ///
  /// - Parameters:
  ///   - old: The place of the timer; nil if it is not set.
  ///   - deadline: The new deadline on the loop's clock. Nil stops the timer.
  /// - Returns: The new place of the timer; nil if it was stopped.
  func replaceTimer(_ old: UInt64?, at deadline: Duration?, _ body: @escaping () -> Void) -> UInt64? {
    if let old { timers.remove(old) }
    defer { armTimer() }
    return deadline.map { timers.add(at: $0, body) }
  }

  /// Calls the bodies of the timers that are due, in the order of their deadlines.
  private func fireTimers() {
    armedDeadline = nil
    let now = now
    while !isStopping, let due = timers.popDue(at: now) { due.body() }
    armTimer()
  }

  private func armTimer() {
    guard timers.nextDeadline != armedDeadline, !isAbandoned else { return }
    armedDeadline = timers.nextDeadline
    var setting = itimerspec()
    if let deadline = armedDeadline {
      if let clock {
        // The kernel does not know this clock, which wakes the loop itself when it moves. What is due already fires at once.
        if deadline <= clock.time { setting.it_value = Duration.zero.timespec }
      } else {
        setting.it_value = deadline.timespec
      }
    }
    unsafe timerfd_settime(timer.rawValue, CInt(TFD_TIMER_ABSTIME), &setting, nil)
  }

  private func runJobs() { for job in handle.takeJobs() { job(self) } }

  // MARK: Running

  /// Handles events on the calling thread until ``stop()`` is called. Throws a ``SystemError`` if the kernel's wait fails.
  public func run() throws(SystemError) {
    isStopping = false
    handle.adoptCurrentThread()
    while !isStopping { try turn(waits: true) }
  }

  /// Handles the events that are ready, on the calling thread, without waiting. This is for a program whose own loop waits for
  /// ``descriptor``.
  package func poll() throws(SystemError) {
    isStopping = false
    handle.adoptCurrentThread()
    defer { handle.leaveThread() }
    try turn(waits: false)
    // Jobs that handlers have submitted to this loop do not make the descriptor readable, so wake the loop.
    if handle.hasOwnJobs || !endings.isEmpty { handle.wake() }
  }

  /// The descriptor of the loop; readable when ``poll()`` has something to do.
  package var descriptor: CInt { epoll.rawValue }

  private func turn(waits: Bool) throws(SystemError) {
    let isWaiting = waits && !handle.hasOwnJobs && endings.isEmpty
    let count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, CInt(events.count), isWaiting ? -1 : 0)
    if count < 0 {
      // A SIGCONT after a SIGSTOP interrupts the wait, even if there is no handler.
      if errno == EINTR { return }
      let failure = SystemError.last("epoll_wait")
      onFailure?(failure)
      throw failure
    }
    for index in 0..<Int(count) where !isStopping {
      let event = unsafe events[index]
      let slot = unsafe Int(truncatingIfNeeded: event.data.u64 & 0xffff_ffff)
      let generation = unsafe UInt32(truncatingIfNeeded: event.data.u64 >> 32)
      // A handler earlier in this turn may have removed this one, and the slot may have a new owner.
      guard slots[slot].generation == generation, let handler = slots[slot].handler else { continue }
      unsafe handler(Readiness(rawValue: event.events))
    }
    if handle.hasOwnJobs { runJobs() }
    if !endings.isEmpty, !isStopping { runEndings() }
    onTurnEnd?()
  }

  private func runEndings() {
    let bodies = endings
    endings = []
    for body in bodies { body() }
  }

  /// Calls `body` once, when everything that was ready at once has been handled, and before ``onTurnEnd``. At the end of a turn,
  /// `body` is for the next one.
  package func atTurnEnd(_ body: @escaping () -> Void) { endings.append(body) }

  /// Makes ``run()`` return after the handler that calls this.
  public func stop() { isStopping = true }
}

/// A clock for the timers of loops, in place of the kernel's monotonic clock. Tests use one that stands still until they move it.
package protocol LoopClock: Sendable {
  /// The current time. It never goes back.
  var time: Duration { get }

  /// Takes note of a loop that goes by this clock.
  ///
  /// - Parameter clockHasMoved: The closure to call from then on, on any thread, each time that the clock has moved. It makes the
  ///   loop fire the timers that are due, on the loop's thread. It returns false if the loop has ended.
  func drive(_ clockHasMoved: @escaping @Sendable () -> Bool)
}

/// A handle by which other threads use a running ``EventLoop``.
///
/// The handle may outlive the loop. Jobs that are submitted after the loop's end are dropped.
public final class LoopHandle: Sendable {
  /// A closure that runs on the loop's thread.
  public typealias Job = @Sendable (EventLoop) -> Void

  fileprivate let wakeUp: FileDescriptor
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
    _ job: @escaping @Sendable (EventLoop, Promise<Result<Value, any Error>>) -> Void
  ) throws -> Value {
    guard !isOnLoopThread else {
      throw SystemError(operation: "call", code: EDEADLK)
    }
    let promise = BlockingResult<Value>()
    guard submit(Self.job(answering: promise, job)) else { throw SystemError(operation: "call", code: ECANCELED) }
    return try promise.wait()
  }

  /// Made here, so that only the job holds the answer: a loop that ends releases both.
  private static func job<Value: Sendable>(
    answering promise: BlockingResult<Value>,
    _ job: @escaping @Sendable (EventLoop, Promise<Result<Value, any Error>>) -> Void
  ) -> Job {
    let lost = Result<Value, any Error>.failure(SystemError(operation: "call", code: ECANCELED))
    let answer = Promise(otherwise: lost) { promise.fulfill($0) }
    return { job($0, answer) }
  }

  private static var currentThread: UInt { UInt(pthread_self()) }

  private var isOnLoopThread: Bool { runner.load(ordering: .relaxed) == Self.currentThread }

  /// Notes that the calling thread runs the loop from now on.
  fileprivate func adoptCurrentThread() { runner.store(Self.currentThread, ordering: .relaxed) }

  /// Notes that no thread runs the loop until the next call of ``adoptCurrentThread()``.
  fileprivate func leaveThread() { runner.store(0, ordering: .relaxed) }

  /// Whether jobs wait that no event reports.
  fileprivate var hasOwnJobs: Bool { ownJobs.load(ordering: .relaxed) }

  fileprivate func takeJobs() -> [Job] {
    ownJobs.store(false, ordering: .relaxed)
    return mailbox.takeAll()
  }

  /// Resets ``wakeUp``. Call this when it is readable.
  fileprivate func acknowledgeWakeUp() {
    var count: eventfd_t = 0
    _ = unsafe eventfd_read(wakeUp.rawValue, &count)
  }

  func close() {
    // The system may give the same number to the next thread.
    leaveThread()
    mailbox.close()
  }
}

/// The jobs that wait for the loop.
private final class Mailbox: Sendable {
  private struct State {
    var jobs: [LoopHandle.Job] = []
    var isClosed = false
  }

  private let state = Lock(State())

  /// Adds a job.
  ///
  /// - Returns: Whether it is the first waiting job; nil if the loop has ended.
  func append(_ job: @escaping LoopHandle.Job) -> Bool? {
    state.withLock { state in
      guard !state.isClosed else { return nil }
      state.jobs.append(job)
      return state.jobs.count == 1
    }
  }

  func takeAll() -> [LoopHandle.Job] {
    state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
  }

  func close() {
    // Jobs are released outside the lock, because an object that they own may submit a job in its deinit.
    let dropped = state.withLock { state in
      state.isClosed = true
      defer { state.jobs = [] }
      return state.jobs
    }
    _ = dropped
  }
}

/// Deadlines with a closure for each, in order. Pure: the queue does not read a clock.
struct TimerQueue {
  struct Entry {
    let id: UInt64
    let deadline: Duration
    let body: () -> Void
  }

  /// The entries, sorted by deadline with the earliest last, so that the next one is removed without moving the others. A loop
  /// has only a few.
  private var entries: [Entry] = []
  private var lastID: UInt64 = 0

  var nextDeadline: Duration? { entries.last?.deadline }

  mutating func add(at deadline: Duration, _ body: @escaping () -> Void) -> UInt64 {
    lastID += 1
    // If two deadlines are equal, the one that was added first fires first.
    let position = entries.firstIndex { $0.deadline <= deadline } ?? entries.endIndex
    entries.insert(Entry(id: lastID, deadline: deadline, body: body), at: position)
    return lastID
  }

  mutating func remove(_ id: UInt64) {
    entries.removeAll { $0.id == id }
  }

  mutating func popDue(at now: Duration) -> Entry? {
    guard let next = entries.last, next.deadline <= now else { return nil }
    return entries.removeLast()
  }
}

/// A value that belongs to a loop's thread, wrapped for other threads: they can pass it on, and only a job on that loop can
/// read the value.
///
/// `@unchecked`: `value` is returned only to a caller that has an ``EventLoop``, which never leaves its thread; another loop
/// gets nil.
public final class LoopBound<Value>: @unchecked Sendable {
  private let value: Value
  private let loop: ObjectIdentifier

  /// Wraps a value. Call this on the loop's thread.
  public init(_ value: Value, on loop: EventLoop) {
    self.value = value
    self.loop = ObjectIdentifier(loop)
  }

  /// Returns the value; nil if `loop` is another loop.
  public func value(on loop: EventLoop) -> Value? {
    ObjectIdentifier(loop) == self.loop ? value : nil
  }
}
