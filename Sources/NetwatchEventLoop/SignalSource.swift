import CLinux
import Glibc

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
