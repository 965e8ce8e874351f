import Netwatch
import NetwatchEventLoop

/// Reads the counters of links at whole multiples of an interval of the monotonic clock, while somebody wants to know.
///
/// Belongs to its loop. If no link is counted, there is no timer.
package final class TrafficSampler {
  /// Who wants to know sooner would see the reading more than the traffic.
  package static let shortestInterval = Duration.milliseconds(100)

  private let input: NetlinkInput
  private let tell: ([LinkTraffic], Moment) -> Void
  private let interval: Duration
  private let counters: LinkCounters
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in tick() }
  private let loop: EventLoop
  private var links: [(index: Int32, name: InterfaceName, meter: TrafficMeter)] = []

  /// - Parameters:
  ///   - interval: between two samples. At least ``shortestInterval``.
  ///   - input: a recording holds the samples. Of a replay there is no timer: it says when to ``sample()``.
  ///   - tell: is given the figures of all links that are counted, once in each interval.
  package init(
    on loop: EventLoop, of input: NetlinkInput = .kernel, every interval: Duration,
    tell: @escaping ([LinkTraffic], Moment) -> Void
  ) throws(NetlinkError) {
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
    // The base of the first rates.
    _ = figures(at: input.moment(.sampling))
    setTimer()
  }

  package func stop() {
    timer.stop()
    links = []
  }

  private func tick() {
    sample()
    // Whoever was told may have stopped it.
    if !links.isEmpty { setTimer() }
  }

  private func setTimer() {
    try? input.follow { timer.set(forNextTickEvery: interval) }
  }

  /// Reads the counters, and tells of them.
  package func sample() {
    let moment = input.moment(.sampling)
    tell(figures(at: moment), moment)
  }

  private func figures(at moment: Moment) -> [LinkTraffic] {
    links.indices.compactMap { position in
      let link = links[position]
      // A link that is gone is told of by a path.
      return counters.sample(link.index, link.name, at: moment).map { links[position].meter.handle($0) }
    }
  }
}
