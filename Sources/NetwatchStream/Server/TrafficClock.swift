import Netwatch
import NetwatchEventLoop

/// Decides when clients get the traffic of the link. Clients with equal intervals get it together, and one sample is enough for
/// all intervals that end at the same time.
///
/// All ticks are at whole tenths of a second. So the kernel is asked at most ten times a second, whatever the intervals are.
///
/// The clock belongs to the thread of its loop. If no client asks for traffic, there is no timer.
final class TrafficClock {
  /// The shortest interval that a client may ask for.
  private static let grid = Duration.milliseconds(100)

  private let loop: EventLoop
  private let sample: () -> TrafficMeter.Sample?
  private let tell: (_ interval: Duration, LinkTraffic) -> Void
  /// The meters and their next ticks, by interval.
  private var groups: [Duration: (meter: TrafficMeter, due: Duration)] = [:]
  private var timer: LoopTimer?
  /// The last sample and its time. A meter can start from it, so that a new interval costs no question to the kernel.
  private var last: (sample: TrafficMeter.Sample, time: Duration)?

  /// Creates a clock without a timer.
  ///
  /// - Parameters:
  ///   - sample: The closure that reads the counters of the link that carries the path; nil if no link does.
  ///   - tell: The closure that gets the traffic for the clients with this interval.
  init(
    on loop: EventLoop, sample: @escaping () -> TrafficMeter.Sample?,
    tell: @escaping (_ interval: Duration, LinkTraffic) -> Void
  ) {
    self.loop = loop
    self.sample = sample
    self.tell = tell
    timer = LoopTimer(on: loop) { [unowned self] in tick() }
  }

  /// Sets the intervals that clients want from now on.
  func setIntervals(_ wanted: Set<Duration>) {
    let now = loop.now
    groups = groups.filter { wanted.contains($0.key) }
    for interval in wanted where groups[interval] == nil {
      var meter = TrafficMeter()
      // The first rates are measured from this sample on.
      if let base = recentSample(at: now) { _ = meter.handle(base) }
      groups[interval] = (meter, tick(every: interval, after: now))
    }
    setTimer()
  }

  private func recentSample(at now: Duration) -> TrafficMeter.Sample? {
    if let last, now - last.time < Self.grid { return last.sample }
    return newSample(at: now)
  }

  private func newSample(at now: Duration) -> TrafficMeter.Sample? {
    last = sample().map { ($0, now) }
    return last?.sample
  }

  /// Returns the next tick of an interval, or the first possible one after it.
  private func tick(every interval: Duration, after now: Duration) -> Duration {
    let tick = now.nextTick(every: interval)
    let early = Duration(attoseconds: tick.attoseconds % Self.grid.attoseconds)
    return early == .zero ? tick : tick - early + Self.grid
  }

  private func tick() {
    let now = loop.now
    let sample = newSample(at: now)
    for (interval, group) in groups where group.due <= now {
      groups[interval]?.due = tick(every: interval, after: now)
      if let sample, let traffic = groups[interval]?.meter.handle(sample) { tell(interval, traffic) }
    }
    setTimer()
  }

  private func setTimer() {
    if let due = groups.values.map(\.due).min() { timer?.set(at: due) } else { timer?.stop() }
  }
}
