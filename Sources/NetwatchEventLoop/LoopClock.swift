/// A clock for the timers of loops, in place of the kernel's monotonic clock. Tests use one that stands still until they move it.
package protocol LoopClock: Sendable {
  /// The current time. It never goes back.
  var time: Duration { get }

  /// Takes note of a loop that goes by this clock.
  ///
  /// - Parameter clockHasMoved: The closure to call from then on, on any thread, each time that the clock has moved. It makes the
  ///   loop fire the timers that are due, on the loop's thread. It returns false if the loop has ended.
  func drive(_ clockHasMoved: @escaping @Sendable () -> Bool)
}
