import Glibc
import Synchronization
import Testing

@testable import NetwatchEventLoop

/// A loop whose descriptor another event loop waits for.
@Suite struct PollTests {
  private static func isReadable(_ loop: EventLoop, within milliseconds: CInt = 0) -> Bool {
    var waiting = pollfd(fd: loop.descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe Glibc.poll(&waiting, 1, milliseconds) == 1
  }

  @Test func `a turn without news returns at once, and leaves nothing to read`() throws {
    let loop = try EventLoop()
    var turns = 0
    loop.onTurnEnd = { turns += 1 }
    try loop.poll()
    #expect(turns == 1)
    #expect(!Self.isReadable(loop))
  }

  @Test func `what is ready is served, and is readable until then`() throws {
    let (loop, pipe) = (try EventLoop(), Pipe())
    var count = 0
    try loop.watch(pipe.readEnd, for: .readable) { _ in
      pipe.read()
      count += 1
    }
    #expect(!Self.isReadable(loop))
    pipe.write()
    #expect(Self.isReadable(loop))
    try loop.poll()
    #expect(count == 1)
    #expect(!Self.isReadable(loop))
  }

  @Test func `a timer makes the loop's descriptor readable`() throws {
    let loop = try EventLoop()
    var isDone = false
    loop.schedule(after: .milliseconds(1)) { isDone = true }
    #expect(Self.isReadable(loop, within: 10_000))
    try loop.poll()
    #expect(isDone)
  }

  @Test func `jobs of any thread wake who waits, also those of the thread that polls`() throws {
    let loop = try EventLoop()
    let jobs = Atomic(0)
    func submit() { loop.handle.submit { _ in jobs.add(1, ordering: .relaxed) } }
    submit()
    #expect(Self.isReadable(loop))
    try loop.poll()
    #expect(jobs.load(ordering: .relaxed) == 1)
    #expect(!Self.isReadable(loop))
    // A job is submitted within a turn, at its very end.
    loop.onTurnEnd = {
      loop.onTurnEnd = nil
      submit()
    }
    try loop.poll()
    #expect(Self.isReadable(loop))
    try loop.poll()
    #expect(jobs.load(ordering: .relaxed) == 2)
    #expect(!Self.isReadable(loop))
  }

  @Test func `a loop that watches nothing any more has no readable descriptor`() throws {
    let (loop, pipe) = (try EventLoop(), Pipe())
    let registration = try loop.watch(pipe.readEnd, for: .readable) { _ in }
    loop.schedule(after: .zero) {}
    pipe.write()
    loop.handle.wake()
    #expect(Self.isReadable(loop))
    loop.removeAll()
    #expect(!Self.isReadable(loop))
    loop.handle.wake()
    #expect(!Self.isReadable(loop))
    loop.remove(registration)
  }

  @Test func `an abandoned loop leaves the kernel alone`() throws {
    let (loop, pipe) = (try EventLoop(), Pipe())
    let registration = try loop.watch(pipe.readEnd, for: .readable) { _ in }
    loop.abandon()
    loop.remove(registration)
    loop.schedule(after: .zero) {}
    // The descriptor is still watched by the parent, which shares it. Its timer has not changed, so a timer that is set
    // later fires.
    let other = try EventLoop()
    other.schedule(after: .milliseconds(1)) {}
    #expect(Self.isReadable(other, within: 10_000))
    #expect(!Self.isReadable(loop))
    pipe.write()
    #expect(Self.isReadable(loop))
  }
}
