import CLinux
import NetwatchLibC

/// Receives signals as events of a loop, by signalfd.
///
/// The signals are blocked while this object exists: in the calling thread, and in threads that it starts later. Create it
/// before any thread.
public final class SignalSource {
  /// A signal that was delivered.
  public struct Delivery: Hashable, Sendable {
    /// The number of the signal.
    public let number: CInt
    /// Whether the kernel has sent the signal, such as to the foreground processes of a terminal. False if a process has sent
    /// it.
    public let isFromKernel: Bool
  }

  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?
  /// The signals that were not blocked before.
  private var blocked = sigset_t()

  /// Calls `handler` with each of `signals`, on the loop's thread. Equal signals may be merged.
  ///
  /// - Throws: A ``SystemError`` if the system has no descriptor left.
  public init(_ signals: [CInt], on loop: EventLoop, _ handler: @escaping (Delivery) -> Void) throws(SystemError) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for signal in signals { unsafe sigaddset(&set, signal) }
    self.loop = loop
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, &set, &before)
    unsafe sigemptyset(&blocked)
    for signal in signals where unsafe sigismember(&before, signal) == 0 { unsafe sigaddset(&blocked, signal) }
    descriptor = try .result(
      of: "signalfd", unsafe signalfd(-1, &set, CInt(SFD_CLOEXEC | SFD_NONBLOCK)))
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in
      var info = signalfd_siginfo()
      while unsafe read(descriptor.rawValue, &info, MemoryLayout<signalfd_siginfo>.size) > 0 {
        handler(Delivery(number: CInt(info.ssi_signo), isFromKernel: info.ssi_code > 0))
      }
    }
  }

  /// Runs `body` while the signals have the effect that they had before this object blocked them.
  package func pause(_ body: () -> Void) {
    unsafe pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
    body()
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
  }

  deinit {
    if let registration { loop.remove(registration) }
    unsafe pthread_sigmask(SIG_UNBLOCK, &blocked, nil)
  }
}

// MARK: Actions of signals

extension SignalSource {
  /// The signals without a meaning of their own: SIGUSR1, SIGUSR2 and the real-time signals. Status bars send them to their
  /// modules.
  package static var userDefined: [CInt] {
    [SIGUSR1, SIGUSR2] + Array(__libc_current_sigrtmin()...__libc_current_sigrtmax())
  }

  /// Sets the actions of signals for a program of netwatch, at its start: ``userDefined`` signals no longer end it, the ends
  /// of its children are reported to it, and a file that has reached its largest size (RLIMIT_FSIZE) is an error of the write, as
  /// a full disk is.
  package static func prepareProgram() {
    // Whoever has started this process may ignore SIGCHLD, and then the kernel would not keep how a child has ended.
    signal(SIGCHLD, SIG_DFL)
    discard(userDefined + [SIGXFSZ])
  }

  /// Makes `signals` have no effect on this process. A program that this process starts gets the action that this process
  /// found: execve(2) gives each signal that is caught its default action again, and a signal that is ignored stays ignored.
  package static func discard(_ signals: [CInt]) {
    for signal in signals where !isIgnored(signal) {
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { _ in }
      action.sa_flags = SA_RESTART
      unsafe sigaction(signal, &action, nil)
    }
  }

  /// Whether this process ignores a signal.
  package static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
    let handler = unsafe action.__sigaction_handler.sa_handler
    return unsafe unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
