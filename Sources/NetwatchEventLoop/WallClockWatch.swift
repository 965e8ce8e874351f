import CLinux
import Glibc

/// Wakes when the wall clock was set, which a resume from suspend also does. No polling.
public final class WallClockWatch {
  private let loop: EventLoop
  private let timer: FileDescriptor
  private var registration: EventLoop.Registration?

  public init(on loop: EventLoop, _ handler: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    timer = try .result(
      of: "timerfd_create", timerfd_create(CLOCK_REALTIME, CInt(TFD_CLOEXEC | TFD_NONBLOCK)))
    arm()
    registration = try loop.watch(timer.rawValue, for: .readable) { [unowned self] _ in
      // Fails with ECANCELED; what counts is that the cancellation is taken, and the timer armed anew.
      var expirations: UInt64 = 0
      _ = unsafe read(timer.rawValue, &expirations, MemoryLayout<UInt64>.size)
      arm()
      handler()
    }
  }

  deinit {
    if let registration { loop.remove(registration) }
  }

  private func arm() {
    // A deadline that never comes: the timer serves for its cancellation alone.
    var setting = itimerspec()
    setting.it_value.tv_sec = time_t(Int32.max) * 64
    let flags = CInt(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    unsafe timerfd_settime(timer.rawValue, flags, &setting, nil)
  }
}
