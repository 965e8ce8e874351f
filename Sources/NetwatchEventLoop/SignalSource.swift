import CLinux
import Glibc

/// Signals as events of a loop, by signalfd.
///
/// They are blocked while it lives: in the calling thread, and in those that it starts later. Make it before any thread.
public final class SignalSource {
  public struct Delivery: Hashable, Sendable {
    public let number: CInt
    /// The kernel itself has sent it, such as to the whole foreground of a terminal. Else a process has.
    public let isFromKernel: Bool
  }

  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private var registration: EventLoop.Registration?
  /// Those that were not blocked before.
  private var blocked = sigset_t()

  /// Calls `handler` with each of `signals`, on the loop's thread. Equal signals may be merged.
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

  /// Runs `body` while the signals do what they did before this caught them.
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
