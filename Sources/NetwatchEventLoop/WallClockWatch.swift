import CLinux
import Glibc

/// Reports when the wall clock was set, which also happens at a resume from suspend. Nothing is polled.
public final class WallClockWatch {
  private let loop: EventLoop
  private let timer: FileDescriptor
  private var registration: EventLoop.Registration?

  /// Starts to watch the clock.
  ///
  /// - Parameters:
  ///   - loop: The loop that the watch belongs to.
  ///   - handler: The closure that is called on the loop's thread, each time that the clock was set.
  /// - Throws: A ``SystemError`` if the system has no descriptor left.
  public init(on loop: EventLoop, _ handler: @escaping () -> Void) throws(SystemError) {
    self.loop = loop
    timer = try .result(
      of: "timerfd_create", timerfd_create(CLOCK_REALTIME, CInt(TFD_CLOEXEC | TFD_NONBLOCK)))
    arm()
    registration = try loop.watch(timer.rawValue, for: .readable) { [unowned self] _ in
      // The read fails with ECANCELED. It only takes note of the cancellation, so that the timer can be set again.
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
    // The deadline is never reached, because only the timer's cancellation is used.
    var setting = itimerspec()
    setting.it_value.tv_sec = time_t(clamping: Int64(Int32.max) * 64)
    let flags = CInt(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)
    unsafe timerfd_settime(timer.rawValue, flags, &setting, nil)
  }
}
