import NetwatchEventLoop

/// When the kernel's message was read.
package struct Moment: Hashable, Sendable {
  /// On the monotonic clock, in nanoseconds.
  package let monotonic: Int64
  /// Since 1970 in UTC, in nanoseconds.
  package let wall: Int64

  package static var now: Moment {
    Moment(monotonic: KernelClock.monotonic.nanoseconds, wall: KernelClock.wall.nanoseconds)
  }
}
