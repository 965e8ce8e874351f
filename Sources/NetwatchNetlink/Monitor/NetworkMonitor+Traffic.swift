import Netwatch
import NetwatchEventLoop

extension NetworkMonitor {
  /// What the link that carries the traffic receives and sends, from now on and until nobody holds the sequence.
  ///
  /// The sequence has one value in each interval, of the link beneath any tunnel, and none while nothing carries traffic. If a
  /// reader is slow, only the newest value waits for it. Samples are taken at whole multiples of the interval, so that several
  /// sequences wake the machine together; the first rates are known within one and a half intervals. The monitor runs
  /// meanwhile; if netlink is lost, the sequence ends.
  ///
  /// - Parameter interval: the time between two samples. Default: a second. At least 0.1 s.
  public func traffic(every interval: Duration = .seconds(1)) -> some AsyncSequence<LinkTraffic, Never> & Sendable {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      guard let origin = origin as? SharedNetlink else { return continuation.finish() }
      origin.sampleTraffic(of: self, every: interval.asDelay, into: continuation)
    }
  }
}
