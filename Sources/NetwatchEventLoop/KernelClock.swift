import CLinux
import NetwatchLibC

/// The clocks of the kernel. Each gives a `Duration` since its own zero.
public enum KernelClock: Sendable {
  /// The clock that counts only while the machine runs (CLOCK_MONOTONIC).
  case monotonic
  /// The clock that also counts while the machine is suspended (CLOCK_BOOTTIME).
  case boot
  /// The wall clock, counted from 1970 in UTC (CLOCK_REALTIME). It may step.
  case wall

  /// The current time of the clock.
  public var now: Duration { .nanoseconds(nanoseconds) }

  /// The current time of the clock in nanoseconds.
  public var nanoseconds: Int64 {
    var time = timespec()
    let id: clockid_t =
      switch self {
      case .monotonic: CLOCK_MONOTONIC
      case .boot: CLOCK_BOOTTIME
      case .wall: CLOCK_REALTIME
      }
    unsafe clock_gettime(id, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}

extension Duration {
  /// The duration in whole nanoseconds, rounded toward zero. A duration of more than 292 years gives the nearest representable
  /// number.
  package var nanoseconds: Int64 {
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    return components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }

  /// The duration for timerfd. It is never all zero, because that would disarm the timer instead of firing it.
  var timespec: timespec {
    let nanoseconds = max(self.nanoseconds, 1)
    return NetwatchLibC.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}

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
