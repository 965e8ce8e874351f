import Netwatch
import NetwatchEventLoop

extension NetworkMonitor {
  /// What the link that carries the traffic receives and sends, from now on and until nobody holds the sequence.
  ///
  /// One value in each interval, of the link beneath any tunnel; none while nothing carries traffic. Of a slow reader only
  /// the newest waits. Each call has a clock and counters of its own, on the monitor's thread; the first rates are those of the
  /// first interval. The monitor runs meanwhile; if netlink is lost, the sequence ends.
  ///
  /// - Parameter interval: the time between two samples. Default: a second. At least 0.1 s.
  public func traffic(every interval: Duration = .seconds(1)) -> some AsyncSequence<LinkTraffic, Never> & Sendable {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let origin = origin as? SharedNetlink else { return continuation.finish() }
      origin.sampleTraffic(of: self, every: interval.asDelay, into: continuation)
    }
  }
}
