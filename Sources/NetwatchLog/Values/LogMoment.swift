import NetwatchEventLoop

/// One moment by the three clocks of the kernel, each in microseconds.
package struct LogMoment: Hashable, Sendable {
  /// The wall clock, since 1970 in UTC. It may be set.
  package let wall: Int64
  /// CLOCK_MONOTONIC, which stands still during a suspend. Durations are differences of this clock.
  package let monotonic: Int64
  /// CLOCK_BOOTTIME, which also counts during a suspend.
  package let boot: Int64

  /// In the year 2262, the last moment whose nanoseconds since 1970 have 63 bits. It bounds the other clocks too.
  static let latest: Int64 = 9_223_372_036_000_000

  /// What no clock says counts as the nearest that one can say.
  package init(wall: Int64, monotonic: Int64, boot: Int64) {
    func possible(_ time: Int64) -> Int64 { min(max(time, 0), Self.latest) }
    (self.wall, self.monotonic, self.boot) = (possible(wall), possible(monotonic), possible(boot))
  }

  /// The present.
  package static var now: LogMoment {
    LogMoment(
      wall: KernelClock.wall.nanoseconds / 1_000, monotonic: KernelClock.monotonic.nanoseconds / 1_000,
      boot: KernelClock.boot.nanoseconds / 1_000)
  }

  /// The time that the machine has been suspended since it was started.
  package var suspended: Int64 { boot.subtractingSaturated(monotonic) }

  /// The time from `earlier` to this moment in which the machine was awake, in microseconds; never negative.
  package func microseconds(since earlier: LogMoment) -> Int64 {
    max(monotonic.subtractingSaturated(earlier.monotonic), 0)
  }
}

extension Int64 {
  /// The sum; the nearest number that there is if it does not fit.
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  /// The difference; the nearest number that there is if it does not fit.
  func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : .min) : difference
  }
}
