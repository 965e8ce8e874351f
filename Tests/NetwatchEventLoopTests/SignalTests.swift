import Glibc
import Testing

@testable import NetwatchEventLoop

/// Signals to this thread alone. A synchronous test never leaves its thread.
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
    // Threads of a pool begin with all signals blocked.
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

  // MARK: Actions

  @Test func `a discarded signal neither ends this process nor is anything to a child`() throws {
    // No other test uses this number, because an action belongs to the whole process.
    let number = CInt(__libc_current_sigrtmin()) + 9
    SignalSource.discard([number])
    pthread_kill(pthread_self(), number)
    #expect(!SignalSource.isIgnored(number))
    let pipe = try NetwatchEventLoop.Pipe()
    let script = "exec grep -E '^Sig(Ign|Cgt|Blk)' /proc/self/status"
    let child = try ChildProcess.spawn("/bin/sh", ["-c", script], descriptors: [(pipe.write, STDOUT_FILENO)])
    _ = ChildProcess.waitForEnd(of: child)
    let sets = pipe.text(upTo: 4_096).split(separator: "\n").compactMap { UInt64($0.suffix(16), radix: 16) }
    #expect(sets.count == 3 && sets.allSatisfy { $0 >> UInt64(number - 1) & 1 == 0 })
  }

  @Test func `user-defined signals are 1, 2 and all real-time signals`() {
    #expect(SignalSource.userDefined.first == SIGUSR1)
    #expect(SignalSource.userDefined.contains(SIGUSR2))
    #expect(SignalSource.userDefined.last == CInt(__libc_current_sigrtmax()))
    #expect(SignalSource.userDefined.count == 2 + Int(__libc_current_sigrtmax() - __libc_current_sigrtmin()) + 1)
  }
}
