import Glibc
import Testing

@testable import NetwatchEventLoop

/// Signals of this thread alone: a synchronous test never leaves its thread.
@Suite struct SignalTests {
  @Test func `signals become events, in the thread that they were sent to`() throws {
    let loop = try EventLoop()
    let number = CInt(__libc_current_sigrtmin()) + 5
    var seen: [CInt] = []
    let source = try SignalSource([number, number + 1], on: loop) { [unowned loop] signal in
      #expect(!signal.isFromKernel)
      seen.append(signal.number)
      if seen.count == 2 { loop.stop() }
    }
    pthread_kill(pthread_self(), number)
    pthread_kill(pthread_self(), number + 1)
    try loop.run()
    #expect(seen == [number, number + 1])
    withExtendedLifetime(source) {}
  }

  @Test(arguments: [false, true])
  func `a source blocks its signals while it lives, and leaves them as they were`(wasBlocked: Bool) throws {
    let loop = try EventLoop()
    let number = CInt(__libc_current_sigrtmin()) + 7
    func isBlocked() -> Bool {
      var set = sigset_t()
      unsafe pthread_sigmask(SIG_BLOCK, nil, &set)
      return unsafe sigismember(&set, number) == 1
    }
    // Threads of a pool begin with everything blocked.
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    unsafe pthread_sigmask(wasBlocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nil)
    #expect(isBlocked() == wasBlocked)
    var source: SignalSource? = try SignalSource([number], on: loop) { _ in }
    #expect(isBlocked())
    withExtendedLifetime(source) {}
    source = nil
    #expect(isBlocked() == wasBlocked)
  }
}
