/// Makes rates of the counters of one link at a time. Pure: samples in, figures out.
///
/// A rate is the difference of two counters by the time between the kernel's two answers. Where that difference means nothing
/// there is no rate: a peak that never was is worse than none.
package struct TrafficMeter: Sendable {
  /// What the kernel has answered.
  package struct Sample: Hashable, Sendable {
    /// The bytes that the link has carried; without rates.
    package var traffic: LinkTraffic
    /// When the kernel has answered, on the monotonic clock.
    package var time: Duration
    /// How long the machine has been suspended since it was started.
    package var suspendedTime: Duration

    package init(_ traffic: LinkTraffic, at time: Duration, suspendedTime: Duration) {
      self.traffic = traffic
      self.time = time
      self.suspendedTime = suspendedTime
    }
  }

  /// Two readings of two clocks are never quite simultaneous; no suspend is shorter.
  private static let suspendThreshold = Duration.milliseconds(100)
  /// A thousand times what any link carries, in bits per second.
  private static let mostBits = 1e18

  private var base: Sample?

  package init() {}

  /// The figures at a sample; the next one's rates count from here.
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
    // An index can be used again, by a link of another name.
    guard old.interfaceIndex == new.interfaceIndex, old.kernelName == new.kernelName,
      // A counter restarts with its driver.
      old.receivedBytes <= new.receivedBytes, old.sentBytes <= new.sentBytes, base.time < sample.time,
      sample.suspendedTime - base.suspendedTime < Self.suspendThreshold
    else { return nil }
    let seconds = (sample.time - base.time) / .seconds(1)
    func rate(_ bytes: UInt64) -> UInt64 { UInt64(min(Double(bytes) * 8 / seconds, Self.mostBits).rounded()) }
    return (rate(new.receivedBytes - old.receivedBytes), rate(new.sentBytes - old.sentBytes))
  }
}
