import Glibc
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchEventLoop

/// A pipe whose ends are closed when it is released.
final class Pipe {
  private(set) var readEnd: CInt
  private(set) var writeEnd: CInt

  init() {
    var ends: [CInt] = [-1, -1]
    precondition(unsafe pipe(&ends) == 0)
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    closeReadEnd()
    closeWriteEnd()
  }

  func write() {
    var byte: UInt8 = 1
    _ = unsafe Glibc.write(writeEnd, &byte, 1)
  }

  func read() {
    var byte: UInt8 = 0
    _ = unsafe Glibc.read(readEnd, &byte, 1)
  }

  func closeReadEnd() {
    if readEnd >= 0 { close(readEnd) }
    readEnd = -1
  }

  func closeWriteEnd() {
    if writeEnd >= 0 { close(writeEnd) }
    writeEnd = -1
  }
}

@Suite struct EventLoopTests {
  @Test func `a handler is called while its descriptor is ready`() throws {
    let loop = try EventLoop()
    let pipe = Pipe()
    var calls = 0
    pipe.write()
    pipe.write()
    try loop.watch(pipe.readEnd, for: .readable) { [unowned loop] readiness in
      #expect(readiness.contains(.readable))
      calls += 1
      pipe.read()
      if calls == 2 { loop.stop() }
    }
    try loop.run()
    #expect(calls == 2)
  }

  @Test func `a pipe is writable at once`() throws {
    let loop = try EventLoop()
    let pipe = Pipe()
    var seen: EventLoop.Readiness = []
    try loop.watch(pipe.writeEnd, for: .writable) { [unowned loop] in
      seen = $0
      loop.stop()
    }
    try loop.run()
    #expect(seen == .writable)
  }

  @Test func `a hang-up is told where nothing was asked for`() throws {
    let loop = try EventLoop()
    let pipe = Pipe()
    var seen: EventLoop.Readiness = []
    try loop.watch(pipe.writeEnd, for: []) { [unowned loop] in
      seen = $0
      loop.stop()
    }
    loop.handle.submit { _ in }
    pipe.closeReadEnd()
    try loop.run()
    #expect(!seen.isDisjoint(with: .hungUp))
  }

  @Test(arguments: ["/dev/null", "/proc/self/exe"])
  func `a file that epoll cannot watch is refused`(_ path: String) throws {
    let loop = try EventLoop()
    let descriptor = FileDescriptor(owning: unsafe open(path, O_RDONLY | O_CLOEXEC))
    #expect(throws: SystemError(operation: "epoll_ctl", code: EPERM)) {
      try loop.watch(descriptor.rawValue, for: .readable) { _ in }
    }
    #expect(throws: SystemError(operation: "epoll_ctl", code: EBADF)) {
      try loop.watch(-1, for: .readable) { _ in }
    }
    // Calls that failed leave nothing behind.
    loop.handle.submit { $0.stop() }
    try loop.run()
  }

  @Test func `a handler that is removed in the same turn is not called any more`() throws {
    let loop = try EventLoop()
    let pipes = [Pipe(), Pipe()]
    var registrations: [EventLoop.Registration] = []
    var calls = 0
    for pipe in pipes {
      pipe.write()
      registrations.append(
        try loop.watch(pipe.readEnd, for: .readable) { [unowned loop] _ in
          calls += 1
          for registration in registrations { loop.remove(registration) }
          loop.handle.submit { $0.stop() }
        })
    }
    try loop.run()
    #expect(calls == 1)
    // Removing a registration again does no harm, even if its slot has a new owner.
    _ = try loop.watch(pipes[0].readEnd, for: []) { _ in }
    for registration in registrations { loop.remove(registration) }
  }

  @Test func `a slot that is used again gets none of the old one's events`() throws {
    let loop = try EventLoop()
    let (old, new, last) = (Pipe(), Pipe(), Pipe())
    var wrong = 0
    var registration: EventLoop.Registration?
    old.write()
    last.write()
    try loop.watch(last.readEnd, for: .readable) { [unowned loop] _ in
      last.read()
      if let old = registration { loop.remove(old) }
      registration = try? loop.watch(new.readEnd, for: .readable) { _ in wrong += 1 }
      loop.handle.submit { $0.stop() }
    }
    registration = try loop.watch(old.readEnd, for: .readable) { _ in old.read() }
    try loop.run()
    #expect(wrong == 0)
  }

  // MARK: Timers

  @Test func `timers fire in order, and those of the past at once`() throws {
    let loop = try EventLoop()
    let now = KernelClock.monotonic.now
    var fired: [Int] = []
    loop.schedule(at: now + .milliseconds(2)) {
      fired.append(3)
      loop.stop()
    }
    loop.schedule(at: now - .seconds(1)) { fired.append(1) }
    loop.schedule(at: .seconds(-1)) { fired.append(0) }
    // No clock gets that far. These timers must not keep the others from firing.
    for far in [Duration.seconds(Int64.max), .seconds(Int64.max) * 18] { loop.schedule(at: far) { fired.append(99) } }
    let stopped = LoopTimer(on: loop) { fired.append(-1) }
    stopped.set(at: now)
    loop.schedule(at: now + .milliseconds(1)) {
      fired.append(2)
      // A timer sets another timer, which is in the past.
      loop.schedule(at: .zero) { fired.append(22) }
    }
    stopped.stop()
    try loop.run()
    #expect(fired == [0, 1, 2, 22, 3])
    #expect(KernelClock.monotonic.now >= now + .milliseconds(2))
  }

  @Test func `a timer that stops the loop leaves the others for later`() throws {
    let loop = try EventLoop()
    var fired: [Int] = []
    loop.schedule(at: .seconds(1)) {
      fired.append(1)
      loop.stop()
    }
    loop.schedule(at: .seconds(2)) {
      fired.append(2)
      loop.stop()
    }
    try loop.run()
    #expect(fired == [1])
    try loop.run()
    #expect(fired == [1, 2])
  }

  @Test func `the clocks give plausible times`() {
    #expect(KernelClock.boot.now >= KernelClock.monotonic.now - .milliseconds(1))
    #expect(KernelClock.wall.now > .seconds(1_700_000_000))
    #expect(Duration.nanoseconds(1_234_567_890_123).nanoseconds == 1_234_567_890_123)
    #expect(Duration.nanoseconds(-5).nanoseconds == -5)
  }

  @Test func `errors speak the system's words`() {
    let error = SystemError(operation: "open", code: ENOENT)
    #expect(error.description == "open: No such file or directory")
  }

  @Test func `a loop that cannot go on says so, and throws`() throws {
    let loop = try EventLoop()
    var failure: SystemError?
    loop.onFailure = { failure = $0 }
    loop.schedule(at: .zero) {
      // This is what a program does that closes descriptors of others.
      let other = unsafe open("/dev/null", O_RDONLY)
      dup2(other, loop.epoll.rawValue)
      close(other)
    }
    #expect(throws: SystemError.self) { try loop.run() }
    #expect(failure?.operation == "epoll_wait")
    #expect(failure?.code == EINVAL)
  }
}

/// Timers that use another clock than the kernel's.
@Suite struct LoopClockTests {
  @Test func `a timer fires when the clock has come to its deadline, and not before`() throws {
    let clock = ManualClock()
    let loop = try EventLoop(by: clock)
    var fired: [Int] = []
    for second in [3, 1, 2] { loop.schedule(after: .seconds(second)) { fired.append(second) } }
    #expect(loop.nextDeadline == .seconds(1))
    try loop.poll()
    clock.advance(by: .milliseconds(999))
    try loop.poll()
    #expect(fired.isEmpty)
    clock.advance(by: .milliseconds(1))
    try loop.poll()
    #expect(fired == [1])
    // Both timers fire in one turn, in their order.
    clock.advance(by: .seconds(60))
    #expect(loop.now == .seconds(61))
    try loop.poll()
    #expect(fired == [1, 2, 3])
    #expect(loop.nextDeadline == nil)
  }

  @Test func `what is due already fires at once, and the kernel's time plays no part`() throws {
    let clock = ManualClock()
    let loop = try EventLoop(by: clock)
    var fired: [Int] = []
    // The kernel's clock is already past this deadline.
    loop.schedule(after: .nanoseconds(1)) { fired.append(-1) }
    loop.schedule(after: .zero) {
      fired.append(0)
      loop.schedule(after: .zero) {
        fired.append(1)
      }
    }
    try loop.poll(until: fired.count) { $0 == 2 }
    #expect(fired == [0, 1])
  }

  @Test func `a timer that is set again fires after the new delay`() throws {
    let clock = ManualClock()
    let loop = try EventLoop(by: clock)
    var fired: [Duration] = []
    var timer: LoopTimer?
    timer = LoopTimer(on: loop) {
      fired.append(loop.now)
      if fired.count < 3 { timer?.set(forNextTickEvery: .seconds(10)) }
    }
    timer?.set(after: .seconds(5))
    timer?.set(after: .seconds(7))
    for _ in 0..<40 {
      clock.advance(by: .seconds(1))
      try loop.poll()
    }
    #expect(fired == [.seconds(7), .seconds(20), .seconds(30)])
    timer = nil
  }

  @Test func `loops on other threads fire, each its own, and one that has ended is left alone`() async throws {
    let clock = ManualClock()
    let fired = (0..<3).map { _ in Lock(0) }
    let handles = try fired.map { count in
      try EventLoop.startInBackground(name: "test", by: clock) { loop in
        func again() {
          loop.schedule(after: .seconds(1)) {
            count.withLock { $0 += 1 }
            again()
          }
        }
        again()
        return loop.handle
      }
    }
    clock.advance(by: .seconds(1))
    try await eventually(fired.map { $0.withLock { $0 } }) { $0 == [1, 1, 1] }
    handles[1].submit { $0.stop() }
    try await eventually(handles[1].submit { _ in }) { !$0 }
    clock.advance(by: .seconds(1))
    try await eventually(fired.map { $0.withLock { $0 } }) { $0 == [2, 1, 2] }
    for handle in handles { handle.submit { $0.stop() } }
  }

  @Test func `a loop goes by the kernel's clock if it is given none`() throws {
    let loop = try EventLoop()
    let before = KernelClock.monotonic.now
    let now = loop.now
    #expect(now >= before && now <= KernelClock.monotonic.now)
  }
}

@Suite struct LoopTimerTests {
  @Test func `a timer that is set again fires at the new time alone`() throws {
    let clock = ManualClock()
    let loop = try EventLoop(by: clock)
    var fired = 0
    let timer = LoopTimer(on: loop) { fired += 1 }
    timer.set(after: .zero)
    timer.set(after: .milliseconds(1))
    #expect(timer.deadline == .milliseconds(1))
    try loop.poll()
    #expect(fired == 0)
    clock.advance(by: .milliseconds(1))
    try loop.poll()
    clock.advance(by: .seconds(1))
    try loop.poll()
    #expect(fired == 1)
    #expect(timer.deadline == nil)
  }

  @Test func `a timer may set itself again`() throws {
    let loop = try EventLoop()
    var timer: LoopTimer?
    var left = 3
    timer = LoopTimer(on: loop) {
      left -= 1
      if left > 0 { timer?.set(after: .zero) } else { loop.stop() }
    }
    timer?.set(after: .zero)
    try loop.run()
    #expect(left == 0)
    timer = nil
  }

  @Test func `a timer that is stopped or released does not fire`() throws {
    let loop = try EventLoop()
    var fired = 0
    let stopped = LoopTimer(on: loop) { fired += 1 }
    stopped.set(after: .zero)
    stopped.stop()
    var released: LoopTimer? = LoopTimer(on: loop) { fired += 1 }
    released?.set(after: .zero)
    released = nil
    loop.schedule(after: .zero) { loop.stop() }
    try loop.run()
    #expect(fired == 0)
  }

  @Test func `a timer may be released by what it calls`() throws {
    let loop = try EventLoop()
    var timer: LoopTimer?
    timer = LoopTimer(on: loop) {
      timer = nil
      loop.stop()
    }
    timer?.set(after: .zero)
    try loop.run()
    #expect(timer == nil)
  }

  @Test(arguments: [
    (0, 1000, 1000), (10_000, 1000, 11_000), (10_001, 1000, 11_000), (10_499, 1000, 11_000), (10_500, 1000, 12_000),
    (10_999, 1000, 12_000), (10_100, 300, 10_500), (10_201, 300, 10_500), (86_400_000, 86_400_000, 172_800_000),
  ])
  func `ticks are the whole multiples of their interval, and never closer than half of it`(
    _ now: Int, _ interval: Int, _ tick: Int
  ) {
    #expect(Duration.milliseconds(now).nextTick(every: .milliseconds(interval)) == .milliseconds(tick))
  }

  @Test func `an interval that no binary number is exactly does not drift within ten years`() {
    let tenYears = Duration.seconds(3650 * 86_400)
    let delay = tenYears.nextTick(every: .seconds(0.3)) - tenYears
    #expect(abs(delay / .milliseconds(300) - 1) < 0.000_001)
  }

  @Test func `timers with equal intervals fire together, whenever they were set`() throws {
    let loop = try EventLoop()
    let timers = (0..<3).map { _ in LoopTimer(on: loop) {} }
    for timer in timers { timer.set(forNextTickEvery: .seconds(1_000_000_000)) }
    #expect(Set(timers.map(\.deadline)) == [.seconds(1_000_000_000)])
  }
}
