import Netwatch
import NetwatchEventLoop

/// Decides when clients get figures of the link. Clients with equal intervals get them together, and one sample is enough for
/// all intervals that end at the same moment.
///
/// Belongs to its loop. If no client asks, there is no timer.
final class TrafficClock {
  private let sample: () -> TrafficMeter.Sample?
  private let tell: (_ interval: Duration, LinkTraffic) -> Void
  /// By their intervals.
  private var groups: [Duration: (meter: TrafficMeter, due: Duration)] = [:]
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - sample: reads the counters of the link that carries the traffic; nil where none does.
  ///   - tell: is given what those get who want figures at this interval.
  init(
    on loop: EventLoop, sample: @escaping () -> TrafficMeter.Sample?,
    tell: @escaping (_ interval: Duration, LinkTraffic) -> Void
  ) {
    self.sample = sample
    self.tell = tell
    timer = LoopTimer(on: loop) { [unowned self] in tick() }
  }

  /// The intervals that somebody wants from now on.
  func setIntervals(_ wanted: Set<Duration>) {
    let now = KernelClock.monotonic.now
    groups = groups.filter { wanted.contains($0.key) }
    for interval in wanted where groups[interval] == nil {
      var meter = TrafficMeter()
      // The base of the first rates.
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
