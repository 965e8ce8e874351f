import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// What links carry, for lines: sampled here, or by a service that samples for all who ask it.
package final class TrafficWatch {
  /// As they were sampled last.
  package private(set) var figures: [LinkTraffic] = []
  /// Every link, not only the one that carries the traffic.
  private let countsAll: Bool
  private let tell: (Moment) -> Void
  private let interval: Duration
  private var sampler: TrafficSampler?
  /// When the counters were read here last.
  private var sampled: Moment?
  /// A service samples.
  private var isServed = false

  /// - Parameters:
  ///   - input: where the counters are read.
  ///   - interval: between two samples.
  ///   - tell: called when there are new figures, with their date.
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

  /// A replay has come to a sample.
  package func sample() { sampler?.sample() }

  /// Counts the links of a path from now on.
  package func follow(_ path: NetworkPath) {
    guard let sampler, !isServed else { return }
    sampler.count(countsAll ? path.links.map { ($0.index, $0.kernelName) } : [path.carrier].compactMap { $0 })
  }

  /// A service has sampled. One that is older than this program does not, and is not waited for.
  ///
  /// - Parameter path: the one that was told last; figures of another link are too late, or too early.
  package func receive(_ record: EventRecord, over path: NetworkPath?) {
    guard let figures = record.traffic, path?.interfaceIndex == record.path.interfaceIndex else { return }
    isServed = true
    sampler?.stop()
    let moment = Moment.now
    // The service ticks when the sampler here does: its first figures may be of a tick that has had its line.
    if let sampled, .nanoseconds(moment.monotonic - sampled.monotonic) < interval / 2 { return }
    publish(figures, moment)
  }

  package func serviceWasLost(_ path: NetworkPath?) {
    isServed = false
    if let path { follow(path) }
  }

  package func stop() { sampler?.stop() }
}
