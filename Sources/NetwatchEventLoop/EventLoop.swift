import CLinux
import Glibc

/// One epoll on one thread: descriptors, timers, signals, and jobs from other threads.
///
/// A loop and everything that its handlers touch belong to the thread that runs it; it is not `Sendable`, so the compiler
/// sees to that. Other threads enter by ``handle``. Nothing is allocated while events come in.
@safe public final class EventLoop {
  /// What a descriptor is ready for.
  public struct Readiness: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: EPOLLIN.rawValue)
    public static let writable = Readiness(rawValue: EPOLLOUT.rawValue)
    /// The other side is gone, or the descriptor has failed. Always reported, also where nothing was asked for.
    public static let hungUp = Readiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    /// One of the two is enough, where `contains` would want both.
    public var hasHungUp: Bool { !isDisjoint(with: .hungUp) }
  }

  /// A watched descriptor. Give it back to ``EventLoop/remove(_:)``, before the descriptor is closed.
  public struct Registration: Hashable, Sendable {
    let slot: UInt32
    let generation: UInt32
  }

  /// No tuple: in generic memory a tuple's closure is wrapped at each access.
  private struct Slot {
    var descriptor: CInt = -1
    var generation: UInt32 = 0
    var handler: ((Readiness) -> Void)?
  }

  private static let eventsPerWait = 64

  /// The way in from other threads.
  public let handle: LoopHandle
  let epoll: FileDescriptor
  private let timer: FileDescriptor
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var timers = TimerQueue()
  private var armedDeadline: Duration?
  /// Filled by the kernel in each turn.
  private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: EventLoop.eventsPerWait)
  private var isStopping = false
  private var isAbandoned = false
  private var looksAgain = false
  /// Whether anything was ready in this turn.
  package private(set) var hasEvents = false
  /// Called when everything that was ready at once has been handled: what changed in between is one change.
  public var onTurnEnd: (() -> Void)?
  /// Called where the loop cannot go on, before ``run()`` throws the same.
  public var onFailure: ((SystemError) -> Void)?

  public init() throws(SystemError) {
    handle = try LoopHandle()
    epoll = try .result(of: "epoll_create1", epoll_create1(CInt(EPOLL_CLOEXEC)))
    timer = try .result(
      of: "timerfd_create", timerfd_create(CLOCK_MONOTONIC, CInt(TFD_CLOEXEC | TFD_NONBLOCK)))
    try watch(handle.wakeUp.rawValue, for: .readable) { [unowned self] _ in
      handle.acknowledgeWakeUp()
      runJobs()
    }
    try watch(timer.rawValue, for: .readable) { [unowned self] _ in fireTimers() }
  }

  deinit {
    if !isAbandoned { handle.close() }
    unsafe events.deallocate()
  }

  // MARK: Descriptors

  /// Calls `handler` whenever `descriptor` is ready for `interest`, or has hung up.
  ///
  /// Level triggered. An empty `interest` waits for the hang-up alone.
  /// - Throws: `EPERM` for what is always ready and has no other side: regular files, /dev/null.
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

  /// Waits for something else on a watched descriptor.
  public func change(_ registration: Registration, to interest: Readiness) throws(SystemError) {
    guard isCurrent(registration) else { return }
    try control(EPOLL_CTL_MOD, slots[Int(registration.slot)].descriptor, interest, registration)
  }

  /// Stops watching. The handler is not called again, not even for an event that is already known.
  public func remove(_ registration: Registration) {
    guard isCurrent(registration) else { return }
    let slot = Int(registration.slot)
    if !isAbandoned { epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, slots[slot].descriptor, nil) }
    slots[slot].handler = nil
    slots[slot].generation &+= 1
    freeSlots.append(registration.slot)
  }

  /// Stops watching everything, timers and jobs of other threads too.
  package func removeAll() {
    for slot in slots.indices where slots[slot].handler != nil {
      remove(Registration(slot: UInt32(slot), generation: slots[slot].generation))
    }
  }

  /// Leaves what the kernel keeps to the process that has made this loop: to be called in a child that fork(2) has made, where
  /// nothing is done any more with the loop but to release it. To stop watching would deafen the parent, whose epoll and timer
  /// these are.
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

  /// Calls `body` once, at `deadline` on the monotonic clock or soon after. A ``LoopTimer`` can be stopped.
  public func schedule(at deadline: Duration, _ body: @escaping () -> Void) {
    _ = replaceTimer(nil, at: deadline, body)
  }

  /// Calls `body` once, after `delay` or soon afterwards.
  package func schedule(after delay: Duration, _ body: @escaping () -> Void) {
    schedule(at: KernelClock.monotonic.now + delay, body)
  }

  /// - Parameters:
  ///   - old: The timer's place; nil if it is not set.
  ///   - deadline: Nil for no new place.
  /// - Returns: The new place.
  func replaceTimer(_ old: UInt64?, at deadline: Duration?, _ body: @escaping () -> Void) -> UInt64? {
    if let old { timers.remove(old) }
    defer { armTimer() }
    return deadline.map { timers.add(at: $0, body) }
  }

  private func fireTimers() {
    var expirations: UInt64 = 0
    _ = unsafe read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size)
    armedDeadline = nil
    let now = KernelClock.monotonic.now
    while !isStopping, let due = timers.popDue(at: now) { due.body() }
    armTimer()
  }

  private func armTimer() {
    guard timers.nextDeadline != armedDeadline, !isAbandoned else { return }
    armedDeadline = timers.nextDeadline
    var setting = itimerspec()
    if let deadline = armedDeadline { setting.it_value = deadline.timespec }
    unsafe timerfd_settime(timer.rawValue, CInt(TFD_TIMER_ABSTIME), &setting, nil)
  }

  private func runJobs() { for job in handle.takeJobs() { job(self) } }

  // MARK: Running

  /// Serves events on the calling thread until ``stop()``.
  public func run() throws(SystemError) {
    isStopping = false
    handle.adoptCurrentThread()
    while !isStopping { try turn(waits: true) }
  }

  /// Serves what there is, on the calling thread, and does not wait: for somebody whose own loop waits for ``descriptor``.
  package func poll() throws(SystemError) {
    isStopping = false
    handle.adoptCurrentThread()
    defer { handle.leaveThread() }
    try turn(waits: false)
    // What handlers want done by the loop has no descriptor that tells of it.
    if looksAgain || handle.hasOwnJobs { handle.wake() }
  }

  /// Readable when ``poll()`` has something to do.
  package var descriptor: CInt { epoll.rawValue }

  @inline(__always) private func turn(waits: Bool) throws(SystemError) {
    let isWaiting = waits && !looksAgain && !handle.hasOwnJobs
    looksAgain = false
    let count = unsafe epoll_wait(epoll.rawValue, events.baseAddress, CInt(events.count), isWaiting ? -1 : 0)
    if count < 0 {
      // A SIGCONT after a SIGSTOP interrupts the wait, handler or none.
      if errno == EINTR { return }
      let failure = SystemError.last("epoll_wait")
      onFailure?(failure)
      throw failure
    }
    hasEvents = count > 0
    for index in 0..<Int(count) where !isStopping {
      let event = unsafe events[index]
      let slot = unsafe Int(truncatingIfNeeded: event.data.u64 & 0xffff_ffff)
      let generation = unsafe UInt32(truncatingIfNeeded: event.data.u64 >> 32)
      // A handler earlier in this turn may have removed this one, and the slot may have a new owner.
      guard slots[slot].generation == generation, let handler = slots[slot].handler else { continue }
      unsafe handler(Readiness(rawValue: event.events))
    }
    if handle.hasOwnJobs { runJobs() }
    onTurnEnd?()
  }

  /// The next turn begins at once, whether anything is ready or not.
  package func lookAgain() { looksAgain = true }

  /// Makes ``run()`` return after the handler that calls this.
  public func stop() { isStopping = true }
}
