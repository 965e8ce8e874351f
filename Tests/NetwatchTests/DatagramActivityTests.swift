import Testing

@testable import Netwatch

/// When datagrams count as a request.
@Suite struct DatagramActivityTests {
  /// Samples of counters, one each 250 ms. The counters grow by the numbers that a test gives.
  private struct Script {
    var activity = DatagramActivity()
    var counters = DatagramActivity.Counters()
    var now = Duration.zero
    var changes: [ConnectionActivity.Change] = []

    init() { counters.link = 2 }

    mutating func sample(
      _ datagrams: UInt64, of size: UInt64 = 1_200, tunnel packets: UInt64 = 0, hasSocket: Bool = true
    ) {
      now += .milliseconds(250)
      counters.received.datagrams += datagrams
      counters.received.tunnelPackets += packets
      counters.received.linkBytes += datagrams * size
      let isFlowing = activity.measure(counters, at: now) && hasSocket
      if let change = activity.conclude(isFlowing, at: now) { changes.append(change) }
    }
  }

  @Test func `a download counts from the sample that shows it to the last one`() {
    var script = Script()
    for _ in 0..<4 { script.sample(0) }
    for _ in 0..<20 { script.sample(25) }
    for _ in 0..<4 { script.sample(0) }
    #expect(
      script.changes == [
        .init(count: 1, date: .milliseconds(1_250)), .init(count: 0, date: .milliseconds(6_000)),
      ])
  }

  @Test func `a short request ends with the first quiet sample, a long one may pause`() {
    var script = Script()
    script.sample(0)
    for datagrams: UInt64 in [30, 0, 30, 30, 0] { script.sample(datagrams) }
    #expect(script.changes.map(\.count) == [1, 0])
    for datagrams: UInt64 in [30, 30, 30, 30, 30, 30, 0, 30, 0, 30] { script.sample(datagrams) }
    #expect(script.changes.map(\.count) == [1, 0, 1])
    for _ in 0..<2 { script.sample(0) }
    #expect(script.changes.map(\.count) == [1, 0, 1, 0])
  }

  @Test func `what is small, rare or has no socket does not count`() {
    var script = Script()
    script.sample(0)
    // The samples are small datagrams, as of name lookups and announcements; few datagrams, as pings on a connection
    // that is kept open; and datagrams of a server, whose sockets are not connected.
    for _ in 0..<2_400 {
      script.sample(40, of: 190)
      script.sample(3)
      script.sample(100, hasSocket: false)
    }
    #expect(script.changes.isEmpty && script.activity.count == 0)
  }

  @Test func `datagrams of a tunnel are not counted, those through it are`() {
    var script = Script()
    script.counters.tunnels = [7]
    script.sample(0)
    // These are the tunnel's own datagrams. The numbers of packets differ because some datagrams only keep the tunnel
    // open, and because packets are split or gathered.
    for packets: UInt64 in [100, 97, 80, 120, 100] { script.sample(100, tunnel: packets) }
    #expect(script.changes.isEmpty)
    for _ in 0..<4 { script.sample(200, tunnel: 100) }
    #expect(script.changes.map(\.count) == [1])
  }

  @Test func `a download that goes on beside a tunnel that comes is not known for one sample`() {
    var script = Script()
    script.sample(0)
    for _ in 0..<8 { script.sample(50) }
    script.counters.tunnels = [7]
    script.counters.received.tunnelPackets += 1_000_000
    for _ in 0..<4 { script.sample(50) }
    #expect(script.changes.map(\.count) == [1])
  }

  @Test func `an upload counts, and without a link that is known bytes are not asked for`() {
    var activity = DatagramActivity()
    var counters = DatagramActivity.Counters()
    let first = activity.measure(counters, at: .zero)
    counters.sent.datagrams = 50
    let second = activity.measure(counters, at: .seconds(1))
    #expect(!first && second)
    let undecided = activity.conclude(true, at: .seconds(1))
    let began = activity.conclude(true, at: .seconds(2))
    #expect(undecided == nil && began == .init(count: 1, date: .seconds(1)))
    let changes = [activity.forget(at: .seconds(3)), activity.forget(at: .seconds(3))]
    #expect(changes == [.init(count: 0, date: .seconds(3)), nil])
    // The first sample after `forget` is only the base of the next one.
    counters.sent.datagrams = 500
    let third = activity.measure(counters, at: .seconds(4))
    #expect(!third)
  }

  @Test func `no counters make it trap`() {
    var generator = SystemRandomNumberGenerator()
    func number() -> UInt64 { [0, 1, .max, generator.next()].randomElement(using: &generator) ?? 0 }
    func flow() -> DatagramActivity.Counters.Flow {
      var flow = DatagramActivity.Counters.Flow()
      (flow.datagrams, flow.tunnelPackets, flow.linkBytes) = (number(), number(), number())
      return flow
    }
    var activity = DatagramActivity()
    for _ in 0..<50_000 {
      var counters = DatagramActivity.Counters()
      (counters.received, counters.sent) = (flow(), flow())
      counters.link = Bool.random() ? 1 : nil
      let now = Duration.nanoseconds(Int64(truncatingIfNeeded: number()))
      _ = activity.conclude(activity.measure(counters, at: now), at: now)
      #expect(0...1 ~= activity.count)
    }
  }
}
