/// Computes rates from the counters of one link at a time. Pure: samples in, figures out.
///
/// A rate is the difference of two counters divided by the time between the kernel's two answers. If the difference means
/// nothing there is no rate: a wrong peak is worse than none.
package struct TrafficMeter: Sendable {
  /// The kernel's answer at one moment.
  package struct Sample: Hashable, Sendable {
    /// The bytes that the link has carried, without rates.
    package var traffic: LinkTraffic
    /// The time of the kernel's answer, on the monotonic clock.
    package var time: Duration
    /// The time that the machine has been suspended since it was started.
    package var suspendedTime: Duration

    package init(_ traffic: LinkTraffic, at time: Duration, suspendedTime: Duration) {
      self.traffic = traffic
      self.time = time
      self.suspendedTime = suspendedTime
    }
  }

  /// The shortest suspend. Two readings of two clocks are never quite simultaneous, so smaller differences mean nothing.
  static let suspendThreshold = Duration.milliseconds(100)
  /// A thousand times what any link carries, in bits per second.
  private static let mostBits = 1e18

  private var base: Sample?

  package init() {}

  /// Returns the figures at a sample. The rates of the next one count from here.
  package mutating func handle(_ sample: Sample) -> LinkTraffic {
    var traffic = sample.traffic
    if let base, let rates = rates(from: base, to: sample) {
      (traffic.receivedBitsPerSecond, traffic.sentBitsPerSecond) = rates
    }
    base = sample
    return traffic
  }

  private func rates(from base: Sample, to sample: Sample) -> (received: UInt64, sent: UInt64)? {
    let (old, new) = (base.traffic, sample.traffic)
    guard new.continues(old), base.time < sample.time,
      sample.suspendedTime - base.suspendedTime < Self.suspendThreshold
    else { return nil }
    let time = sample.time - base.time
    return (
      Self.rate(of: new.receivedBytes - old.receivedBytes, in: time),
      Self.rate(of: new.sentBytes - old.sentBytes, in: time)
    )
  }

  /// Returns the bits per second for this many bytes in a time, which has to be more than zero.
  static func rate(of bytes: UInt64, in time: Duration) -> UInt64 {
    UInt64(min(Double(bytes) * 8 / (time / .seconds(1)), mostBits).rounded())
  }
}

extension LinkTraffic {
  /// Returns whether these counters belong to the same link as before and have not begun anew since.
  func continues(_ former: LinkTraffic) -> Bool {
    // An index can be used again, by a link of another name. A counter restarts with its driver.
    former.interfaceIndex == interfaceIndex && former.kernelName == kernelName && former.receivedBytes <= receivedBytes
      && former.sentBytes <= sentBytes && former.links.map(\.interfaceIndex) == links.map(\.interfaceIndex)
  }
}
