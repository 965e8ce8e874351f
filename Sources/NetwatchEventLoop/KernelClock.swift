import Glibc

/// The clocks of the kernel, each as a `Duration` since its own zero.
public enum KernelClock: Sendable {
  /// Counts while the machine runs (CLOCK_MONOTONIC).
  case monotonic
  /// Counts while the machine runs or is suspended (CLOCK_BOOTTIME).
  case boot
  /// The wall clock, since 1970 in UTC (CLOCK_REALTIME). It may step.
  case wall

  public var now: Duration { .nanoseconds(nanoseconds) }

  /// The same as a plain number, which costs a tenth.
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
  /// Whole nanoseconds, rounded toward zero; the nearest that there are where it is more than 292 years.
  package var nanoseconds: Int64 {
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    return components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }

  /// For timerfd. Never all zero, which would disarm the timer instead of firing it.
  var timespec: timespec {
    let nanoseconds = max(self.nanoseconds, 1)
    return Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }
}
