import Testing

@testable import Netwatch

@Suite struct TrafficMeterTests {
  private static func sample(
    _ received: UInt64, _ sent: UInt64, at seconds: Double, index: Int32 = 2, name: String = "eth0",
    suspended: Duration = .zero
  ) -> TrafficMeter.Sample {
    let traffic = LinkTraffic(
      kernelName: InterfaceName(name), interfaceIndex: index, receivedBytes: received, sentBytes: sent)
    return TrafficMeter.Sample(traffic, at: .seconds(seconds), suspendedTime: suspended)
  }

  /// A meter that has sampled the link at 100 s, with 1,000 bytes received and 500 sent.
  private var meter: TrafficMeter {
    var meter = TrafficMeter()
    _ = meter.handle(Self.sample(1_000, 500, at: 100))
    return meter
  }

  @Test func `the first sample has no rates`() {
    var meter = TrafficMeter()
    let traffic = meter.handle(Self.sample(1_000, 500, at: 100))
    #expect(traffic.receivedBitsPerSecond == nil)
    #expect(traffic.sentBitsPerSecond == nil)
    #expect((traffic.receivedBytes, traffic.sentBytes) == (1_000, 500))
    #expect(traffic.interfaceName == "eth0")
  }

  @Test func `a rate counts the time that has really passed`() {
    var meter = meter
    let late = meter.handle(Self.sample(1_000 + 125_000, 500 + 250, at: 102.5))
    #expect(late.receivedBitsPerSecond == 400_000)
    #expect(late.sentBitsPerSecond == 800)
    let next = meter.handle(Self.sample(126_000, 750, at: 103))
    #expect(next.receivedBitsPerSecond == 0)
  }

  @Test(arguments: [
    sample(10, 500, at: 101), sample(1_000, 10, at: 101), sample(9_000, 900, at: 101, index: 3),
    sample(9_000, 900, at: 101, name: "eth1"), sample(9_000, 900, at: 101, suspended: .seconds(3_600)),
    sample(9_000, 900, at: 100), sample(9_000, 900, at: 99),
  ])
  func `what cannot be compared has no rate, once`(_ sample: TrafficMeter.Sample) {
    var meter = meter
    let traffic = meter.handle(sample)
    #expect(traffic.receivedBitsPerSecond == nil)
    #expect(traffic.sentBitsPerSecond == nil)
    var next = sample
    next.traffic.receivedBytes += 125
    next.time += .seconds(1)
    #expect(meter.handle(next).receivedBitsPerSecond == 1_000)
  }

  @Test func `no counter and no time makes it trap`() {
    var generator = SystemRandomNumberGenerator()
    var meter = TrafficMeter()
    for _ in 0..<10_000 {
      let bytes = (0..<2).map { _ in UInt64.random(in: 0...UInt64.max, using: &generator) >> UInt64.random(in: 0..<64) }
      let time = Int64.random(in: Int64.min...Int64.max) >> Int64.random(in: 0..<64)
      var sample = Self.sample(bytes[0], bytes[1], at: 0)
      sample.time = .nanoseconds(time)
      let traffic = meter.handle(sample)
      #expect(traffic.receivedBytes == bytes[0])
    }
    _ = meter.handle(Self.sample(0, 0, at: 1))
    var sample = Self.sample(.max, .max, at: 1)
    sample.time += .nanoseconds(1)
    #expect(meter.handle(sample).sentBitsPerSecond == 1_000_000_000_000_000_000)
  }
}
