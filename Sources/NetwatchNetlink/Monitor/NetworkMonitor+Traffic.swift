import Netwatch
import NetwatchEventLoop

extension NetworkMonitor {
  /// Returns a sequence of the traffic of the link that carries the path. Samples are taken while somebody holds the sequence.
  ///
  /// The sequence has one value in each interval, and none while no link carries the path. If there is a tunnel, the values are
  /// of the link beneath it. If the path goes over several links at once, because its route has several next hops or IPv6 uses
  /// another link, the values are their sums, and their `links` have those of each. If a reader is slow, only the newest value
  /// waits for it. Samples are taken at whole multiples of the interval, so that several sequences wake the machine together,
  /// and at the next whole tenth of a second if the interval is none. The first rates are known within one and a half
  /// intervals. The sequence keeps the monitor running; if netlink is lost, the sequence ends.
  ///
  /// - Parameter interval: The time between two samples, at least 0.1 seconds. Default: 1 second.
  /// - Returns: The sequence of the traffic.
  public func traffic(every interval: Duration = .seconds(1)) -> some AsyncSequence<LinkTraffic, Never> & Sendable {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let origin = origin as? SharedNetlink else { return continuation.finish() }
      origin.sampleTraffic(of: self, every: interval.asDelay, into: continuation)
    }
  }
}
