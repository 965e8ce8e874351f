import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The traffic of links, for lines. It is sampled here, or by a service that samples for all its clients.
package final class TrafficWatch {
  /// The figures of the last sample.
  package private(set) var figures: [LinkTraffic] = []
  /// Whether every link is counted, not only the one that carries the path.
  private let countsAll: Bool
  private let tell: (Moment) -> Void
  private let interval: Duration
  private var sampler: TrafficSampler?
  /// The time of the last sample here.
  private var sampled: Moment?
  /// Whether a service samples.
  private var isServed = false

  /// Creates a watch that does not sample yet.
  ///
  /// - Parameters:
  ///   - input: The source of the counters.
  ///   - interval: The time between two samples.
  ///   - countsAll: Whether every link is counted, not only the one that carries the path.
  ///   - tell: The closure that is called when there are new figures, with their time.
  package init(
    on loop: EventLoop, of input: NetlinkInput, every interval: Duration, countsAll: Bool,
    tell: @escaping (Moment) -> Void
  ) throws {
    self.countsAll = countsAll
    self.interval = interval
    self.tell = tell
    sampler = try TrafficSampler(on: loop, of: input, every: interval) { [unowned self] figures, moment in
      sampled = moment
      publish(figures, moment)
    }
  }

  private func publish(_ figures: [LinkTraffic], _ moment: Moment) {
    self.figures = figures
    tell(moment)
  }

  /// Takes a sample, because a replay has come to one.
  package func sample() { sampler?.sample() }

  /// Counts the links of a path from now on.
  package func follow(_ path: NetworkPath) {
    guard let sampler, !isServed else { return }
    sampler.count(countsAll ? path.links.map { ($0.index, $0.kernelName) } : [path.carrier].compactMap { $0 })
  }

  /// Takes the figures of a service. A service that is older than this program sends none, and is not waited for.
  ///
  /// - Parameter path: The path that was reported last. Figures of another link are ignored, because they come before or after
  ///   a change.
  package func receive(_ record: EventRecord, over path: NetworkPath?) {
    guard let figures = record.traffic, path?.interfaceIndex == record.path.interfaceIndex else { return }
    isServed = true
    sampler?.stop()
    let moment = Moment.now
    // The service samples at the same times as the sampler here. So its first figures may be of a tick that already has its
    // line.
    if let sampled, .nanoseconds(moment.monotonic - sampled.monotonic) < interval / 2 { return }
    publish(figures, moment)
  }

  /// Samples here again, because the service is gone.
  package func serviceWasLost(_ path: NetworkPath?) {
    isServed = false
    if let path { follow(path) }
  }

  /// Stops sampling here.
  package func stop() { sampler?.stop() }
}
