/// A timer of a loop that can be set again and again. It belongs to the loop's thread, and ends when it is released.
public final class LoopTimer {
  private let loop: EventLoop
  private let body: () -> Void
  /// Made once, so that setting the timer allocates nothing.
  private var fire: () -> Void = {}
  /// Its place among the loop's timers; nil if it is not set.
  private var id: UInt64?
  /// When it fires, on the monotonic clock; nil if it is not set.
  public private(set) var deadline: Duration?

  /// - Parameter body: Called on the loop each time that the timer fires, which it has to be set for. It may set the timer
  ///   again, and may release it.
  public init(on loop: EventLoop, _ body: @escaping () -> Void) {
    self.loop = loop
    self.body = body
    fire = { [unowned self] in
      (id, deadline) = (nil, nil)
      // Held: the body may release the timer.
      let body = self.body
      body()
    }
  }

  deinit { stop() }

  /// Fires once, at `deadline` on the monotonic clock or soon after, instead of whenever it was set for. Nil stops it.
  public func set(at deadline: Duration?) {
    if deadline == nil, id == nil { return }
    id = loop.replaceTimer(id, at: deadline, fire)
    self.deadline = deadline
  }

  /// Fires once, after `delay` or soon afterwards, instead of whenever it was set for.
  public func set(after delay: Duration) { set(at: KernelClock.monotonic.now + delay) }

  /// Fires once, at the deadline that `nextTick(every:)` gives, instead of whenever the timer was set for.
  package func set(forNextTickEvery interval: Duration) { set(at: KernelClock.monotonic.now.nextTick(every: interval)) }

  /// Does not fire any more, unless it is set again.
  public func stop() { set(at: nil) }
}

extension Duration {
  /// The whole multiple of `interval` that is nearest to one interval after this time of the monotonic clock.
  ///
  /// All timers with equal intervals tick at the same moments, so they wake the machine together. Two ticks are at least half an
  /// interval apart: a tick that comes late skips the next one instead of measuring a rate over almost no time.
  package func nextTick(every interval: Duration) -> Duration {
    Duration(attoseconds: ((self + interval / 2).attoseconds / interval.attoseconds + 1) * interval.attoseconds)
  }
}
