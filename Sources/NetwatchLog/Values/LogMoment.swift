import NetwatchEventLoop

/// A moment on the three clocks of the kernel, each in microseconds.
package struct LogMoment: Hashable, Sendable {
  /// The time of the wall clock, since 1970 in UTC. It may be set.
  package let wall: Int64
  /// The time of CLOCK_MONOTONIC, which stops during a suspend. Durations are differences of this clock.
  package let monotonic: Int64
  /// The time of CLOCK_BOOTTIME, which continues during a suspend.
  package let boot: Int64

  /// The latest time, in the year 2262: the last one whose nanoseconds since 1970 fit into 63 bits. It is also the limit of the
  /// other clocks.
  static let latest: Int64 = 9_223_372_036_000_000

  /// Creates a moment. A time out of range counts as the nearest possible one.
  package init(wall: Int64, monotonic: Int64, boot: Int64) {
    func possible(_ time: Int64) -> Int64 { min(max(time, 0), Self.latest) }
    (self.wall, self.monotonic, self.boot) = (possible(wall), possible(monotonic), possible(boot))
  }

  /// The current moment.
  package static var now: LogMoment {
    LogMoment(
      wall: KernelClock.wall.nanoseconds / 1_000, monotonic: KernelClock.monotonic.nanoseconds / 1_000,
      boot: KernelClock.boot.nanoseconds / 1_000)
  }

  /// The time that the machine has been suspended since its start, in microseconds.
  package var suspended: Int64 { boot.subtractingSaturated(monotonic) }

  /// Returns the time from `earlier` to this moment in which the machine was awake, in microseconds. Never negative.
  package func microseconds(since earlier: LogMoment) -> Int64 {
    max(monotonic.subtractingSaturated(earlier.monotonic), 0)
  }
}

extension Int64 {
  /// Returns the sum, or the nearest representable number if it does not fit.
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  /// Returns the difference, or the nearest representable number if it does not fit.
  func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : .min) : difference
  }
}
