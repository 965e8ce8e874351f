/// Makes rates of the counters of one link at a time. Pure: samples in, figures out.
///
/// A rate is the difference of two counters by the time between the kernel's two answers. Where that difference means nothing
/// there is no rate: a peak that never was is worse than none.
package struct TrafficMeter: Sendable {
  /// What the kernel has answered.
  package struct Sample: Hashable, Sendable {
    package var kernelName: InterfaceName
    package var interfaceIndex: Int32
    package var receivedBytes: UInt64
    package var sentBytes: UInt64
    /// When the kernel has answered, on the monotonic clock.
    package var time: Duration
    /// How long the machine has been suspended since it was started.
    package var suspendedTime: Duration

    package init(
      kernelName: InterfaceName, interfaceIndex: Int32, receivedBytes: UInt64, sentBytes: UInt64, time: Duration,
      suspendedTime: Duration
    ) {
      self.kernelName = kernelName
      self.interfaceIndex = interfaceIndex
      self.receivedBytes = receivedBytes
      self.sentBytes = sentBytes
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
    var rates: (received: UInt64, sent: UInt64)?
    if let base { rates = self.rates(from: base, to: sample) }
    base = sample
    return LinkTraffic(
      kernelName: sample.kernelName, interfaceIndex: sample.interfaceIndex, receivedBytes: sample.receivedBytes,
      sentBytes: sample.sentBytes, receivedBitsPerSecond: rates?.received, sentBitsPerSecond: rates?.sent)
  }

  private func rates(from base: Sample, to sample: Sample) -> (received: UInt64, sent: UInt64)? {
    // An index can be used again, by a link of another name.
    guard base.interfaceIndex == sample.interfaceIndex, base.kernelName == sample.kernelName,
      // A counter restarts with its driver.
      base.receivedBytes <= sample.receivedBytes, base.sentBytes <= sample.sentBytes, base.time < sample.time,
      sample.suspendedTime - base.suspendedTime < Self.suspendThreshold
    else { return nil }
    let seconds = (sample.time - base.time) / .seconds(1)
    func rate(_ bytes: UInt64) -> UInt64 { UInt64(min(Double(bytes) * 8 / seconds, Self.mostBits).rounded()) }
    return (rate(sample.receivedBytes - base.receivedBytes), rate(sample.sentBytes - base.sentBytes))
  }
}
