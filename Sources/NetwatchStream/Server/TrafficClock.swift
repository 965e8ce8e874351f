import Netwatch
import NetwatchEventLoop

/// Decides when clients get the traffic of the link. Clients with equal intervals get it together, and one sample is enough for
/// all intervals that end at the same time.
///
/// The clock belongs to the thread of its loop. If no client asks for traffic, there is no timer.
final class TrafficClock {
  private let sample: () -> TrafficMeter.Sample?
  private let tell: (_ interval: Duration, LinkTraffic) -> Void
  /// The meters and their next ticks, by interval.
  private var groups: [Duration: (meter: TrafficMeter, due: Duration)] = [:]
  private var timer: LoopTimer?

  /// Creates a clock without a timer.
  ///
  /// - Parameters:
  ///   - sample: The closure that reads the counters of the link that carries the path; nil if no link does.
  ///   - tell: The closure that gets the traffic for the clients with this interval.
  init(
    on loop: EventLoop, sample: @escaping () -> TrafficMeter.Sample?,
    tell: @escaping (_ interval: Duration, LinkTraffic) -> Void
  ) {
    self.sample = sample
    self.tell = tell
    timer = LoopTimer(on: loop) { [unowned self] in tick() }
  }

  /// Sets the intervals that clients want from now on.
  func setIntervals(_ wanted: Set<Duration>) {
    let now = KernelClock.monotonic.now
    groups = groups.filter { wanted.contains($0.key) }
    for interval in wanted where groups[interval] == nil {
      var meter = TrafficMeter()
      // The first rates are measured from this sample on.
      if let base = sample() { _ = meter.handle(base) }
      groups[interval] = (meter, now.nextTick(every: interval))
    }
    setTimer()
  }

  private func tick() {
    let now = KernelClock.monotonic.now
    let sample = sample()
    for (interval, group) in groups where group.due <= now {
      groups[interval]?.due = now.nextTick(every: interval)
      if let sample, let traffic = groups[interval]?.meter.handle(sample) { tell(interval, traffic) }
    }
    setTimer()
  }

  private func setTimer() {
    if let due = groups.values.map(\.due).min() { timer?.set(at: due) } else { timer?.stop() }
  }
}
