import Netwatch
import NetwatchEventLoop

/// Reads the counters of links at whole multiples of an interval of the monotonic clock, while there are links to count.
///
/// The sampler belongs to the thread of its loop. If no link is counted, there is no timer.
package final class TrafficSampler {
  /// The shortest interval. At shorter ones, the figures would show the traffic of reading them.
  package static let shortestInterval = Duration.milliseconds(100)

  private let input: NetlinkInput
  private let tell: ([LinkTraffic], Moment) -> Void
  private let interval: Duration
  private let counters: LinkCounters
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in tick() }
  private let loop: EventLoop
  private var links: [(index: Int32, name: InterfaceName, meter: TrafficMeter)] = []

  /// Creates a sampler that counts no links yet.
  ///
  /// - Parameters:
  ///   - input: The source of the counters. A recording stores the samples. A replay has no timer, because the trace determines
  ///     when to call ``sample()``.
  ///   - interval: The time between two samples, at least ``shortestInterval``.
  ///   - tell: The closure that gets the figures of all counted links, once in each interval.
  /// - Throws: A `SystemError` if the socket cannot be opened.
  package init(
    on loop: EventLoop, of input: NetlinkInput = .kernel, every interval: Duration,
    tell: @escaping ([LinkTraffic], Moment) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.input = input
    self.interval = max(interval, Self.shortestInterval)
    self.tell = tell
    counters = try LinkCounters(of: input)
  }

  /// Counts these links from now on, and no others. The first rates of a link are known at the next tick.
  package func count(_ wanted: [(index: Int32, name: InterfaceName)]) {
    let former = links
    links = wanted.map { link in
      (link.index, link.name, former.first { $0.index == link.index && $0.name == link.name }?.meter ?? TrafficMeter())
    }
    guard !links.isEmpty else { return stop() }
    guard former.isEmpty else { return }
    // The first rates are measured from this sample on.
    _ = figures(at: input.moment(.sampling))
    setTimer()
  }

  /// Stops counting, and stops the timer.
  package func stop() {
    timer.stop()
    links = []
  }

  private func tick() {
    sample()
    // The closure may have stopped the sampler.
    if !links.isEmpty { setTimer() }
  }

  private func setTimer() {
    try? input.follow { timer.set(forNextTickEvery: interval) }
  }

  /// Reads the counters and passes the figures to the closure.
  package func sample() {
    let moment = input.moment(.sampling)
    tell(figures(at: moment), moment)
  }

  private func figures(at moment: Moment) -> [LinkTraffic] {
    links.indices.compactMap { position in
      let link = links[position]
      // The loss of a link is reported by a path.
      return counters.sample(link.index, link.name, at: moment).map { links[position].meter.handle($0) }
    }
  }
}
