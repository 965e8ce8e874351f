/// A timer of a loop that can be set repeatedly. It belongs to the loop's thread, and stops when it is released.
public final class LoopTimer {
  private let loop: EventLoop
  private let body: () -> Void
  /// What the loop calls.
  private var fire: () -> Void = {}
  /// The place among the loop's timers; nil if the timer is not set.
  private var id: UInt64?
  /// The time at which the timer fires, on the clock of its loop; nil if the timer is not set.
  public private(set) var deadline: Duration?

  /// Creates a timer that is not set.
  ///
  /// - Parameters:
  ///   - loop: The loop on which the timer fires.
  ///   - body: The closure that is called on the loop's thread each time that the timer fires. It may set the timer again, and
  ///     may release it.
  public init(on loop: EventLoop, _ body: @escaping () -> Void) {
    self.loop = loop
    self.body = body
    fire = { [unowned self] in
      (id, deadline) = (nil, nil)
      // The closure is held, because it may release the timer.
      let body = self.body
      body()
    }
  }

  deinit { stop() }

  /// Sets the timer to fire once, at `deadline` on the clock of its loop or soon after. This replaces the former deadline. Nil
  /// stops the timer.
  public func set(at deadline: Duration?) {
    if deadline == nil, id == nil { return }
    id = loop.replaceTimer(id, at: deadline, fire)
    self.deadline = deadline
  }

  /// Sets the timer to fire once, after `delay` or soon after that. This replaces the former deadline.
  public func set(after delay: Duration) { set(at: loop.now + delay) }

  /// Sets the timer to fire once, at the time that `nextTick(every:)` returns. This replaces the former deadline.
  package func set(forNextTickEvery interval: Duration) { set(at: loop.now.nextTick(every: interval)) }

  /// Stops the timer until it is set again.
  public func stop() { set(at: nil) }
}

extension Duration {
  /// Returns the whole multiple of `interval` that is nearest to one interval after this time of the monotonic clock.
  ///
  /// All timers with equal intervals fire at the same times, so they wake the machine together. Two ticks are at least half an
  /// interval apart: a late tick skips the next one, instead of measuring a rate over almost no time.
  package func nextTick(every interval: Duration) -> Duration {
    Duration(attoseconds: ((self + interval / 2).attoseconds / interval.attoseconds + 1) * interval.attoseconds)
  }
}
