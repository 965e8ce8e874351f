import Glibc
import NetwatchTestSupport
import Testing

@testable import Netwatch

@Suite struct QualityMeterTests {
  private static let link = (index: Int32(2), name: InterfaceName("wlan0"))
  private static let interval = 4.0

  /// Returns the facts about a connection at one look.
  private static func facts(
    _ cookie: UInt64, rtt milliseconds: Double = 20, acknowledged: UInt64, sent: UInt32, repeated: UInt32 = 0,
    duplicated: UInt32 = 0, age seconds: Int64 = 0
  ) -> ConnectionFacts {
    var facts = ConnectionFacts(cookie: cookie, stage: .open)
    facts.roundTripTime = UInt32(milliseconds * 1_000)
    facts.bytesAcknowledged = acknowledged
    (facts.segmentsSent, facts.segmentsRepeated, facts.segmentsDuplicated) = (sent, repeated, duplicated)
    facts.sentAge = seconds * 1_000_000_000
    return facts
  }

  private static func look(
    _ seconds: Double, suspended: Double = 0, over link: (index: Int32, name: InterfaceName) = link,
    _ connections: [ConnectionFacts]
  ) -> QualityMeter.Look {
    QualityMeter.Look(over: link, at: .seconds(seconds), suspendedTime: .seconds(suspended), connections)
  }

  /// Connections that send all the time over a link that loses some segments.
  private struct World {
    var meter = QualityMeter()
    var random: SplitMix
    var time = 100.0
    var loss = 0.0
    var roundTrip = 20.0
    /// The number of segments that all connections together send between two looks.
    var segments: UInt32 = 2_000
    private var connections: [ConnectionFacts]

    init(seed: UInt64, connections count: Int = 5) {
      random = SplitMix(seed: seed)
      connections = (0..<UInt64(count)).map { QualityMeterTests.facts($0, acknowledged: 1, sent: 0) }
    }

    /// Returns how many of `sent` segments are lost. Each one is lost by chance; the loop goes from one lost segment to
    /// the next.
    private mutating func lost(of sent: UInt32) -> UInt32 {
      guard loss > 0 else { return 0 }
      var (lost, place) = (UInt32(0), -1.0)
      while true {
        place += 1 + (log(1 - Double.random(in: 0..<1, using: &random)) / log(1 - loss)).rounded(.down)
        if place >= Double(sent) { return lost }
        lost += 1
      }
    }

    mutating func look() -> LinkQuality {
      for place in connections.indices {
        let sent = segments / UInt32(connections.count)
        connections[place].segmentsSent += sent
        connections[place].segmentsRepeated += lost(of: sent)
        connections[place].bytesAcknowledged += 1_000
        connections[place].roundTripTime = UInt32(roundTrip * 1_000)
      }
      time += QualityMeterTests.interval
      return meter.handle(QualityMeterTests.look(time, connections))
    }
  }

  @Test func `figures of fewer than three connections are not told`() {
    var meter = QualityMeter()
    for count in 1...2 {
      let figures = meter.handle(
        Self.look(Double(count), (0..<UInt64(count)).map { Self.facts($0, acknowledged: 5_000, sent: 4_000) }))
      #expect(figures.connections == count)
      #expect(figures.roundTripTime == nil)
      #expect(figures.lossPercent == nil)
    }
    let figures = meter.handle(Self.look(3, (0..<3).map { Self.facts($0, acknowledged: 9_000, sent: 8_000) }))
    #expect(figures.connections == 3)
    #expect(figures.roundTripTime == .milliseconds(20))
    #expect(figures.lossPercent == 0)
    #expect(figures.interfaceName == "wlan0")
  }

  @Test func `the first look tells of each connection since it began, and the second one counts from there`() {
    var meter = QualityMeter()
    let first = (0..<5).map { Self.facts($0, acknowledged: 5_000, sent: 1_000, repeated: 50) }
    #expect(meter.handle(Self.look(4, first)).lossPercent == 5)
    let second = (0..<5).map { Self.facts($0, acknowledged: 6_000, sent: 1_100, repeated: 50) }
    #expect(meter.handle(Self.look(8, second)).lossPercent == 0)
  }

  @Test func `a connection that has been idle says nothing`() {
    var meter = QualityMeter()
    let idle = (0..<9).map { Self.facts($0, rtt: 500, acknowledged: 5_000, sent: 1_000, repeated: 500, age: 31) }
    let busy = (10..<13).map { Self.facts($0, rtt: 30, acknowledged: 5_000, sent: 1_000) }
    var figures = meter.handle(Self.look(4, idle + busy))
    #expect(figures.connections == 3)
    #expect(figures.roundTripTime == .milliseconds(30))
    #expect(figures.lossPercent == 0)
    // A connection without new acknowledgements measures nothing, and half a minute later its figures do not count any
    // more.
    for step in 2...8 {
      figures = meter.handle(Self.look(4 * Double(step), idle + busy))
      #expect(figures.roundTripTime == .milliseconds(30))
    }
    figures = meter.handle(Self.look(36, idle + busy))
    #expect(figures.connections == 0)
    #expect(figures.roundTripTime == nil)
    #expect(figures.lossPercent == nil)
  }

  @Test func `the round-trip time is the median of those that were acknowledged last`() {
    var meter = QualityMeter()
    let times: [Double] = [10, 400, 20, 30, 40]
    let first = times.enumerated().map { Self.facts(UInt64($0), rtt: $1, acknowledged: 10, sent: 1) }
    #expect(meter.handle(Self.look(4, first)).roundTripTime == .milliseconds(30))
    #expect(meter.handle(Self.look(8, first)).roundTripTime == .milliseconds(30))
    // From here on, three connections have new acknowledgements. They are enough as soon as the look before is too old.
    var later = first
    for (look, acknowledged) in [(12.0, UInt64(20)), (16, 30), (20, 40)] {
      for place in 0..<3 { later[place].bytesAcknowledged = acknowledged }
      let figures = meter.handle(Self.look(look, later))
      #expect(figures.roundTripTime == .milliseconds(20))
    }
    #expect(meter.handle(Self.look(24, [])).roundTripTime == .milliseconds(20))
  }

  @Test func `a time that is longer for one look alone is not told, and one that is shorter is`() {
    var world = World(seed: 1)
    for (time, told) in [(20.0, 20), (20, 20), (45, 20), (20, 20), (80, 20), (80, 80), (90, 80), (30, 30)] {
      world.roundTrip = time
      let figures = world.look()
      #expect(figures.roundTripTime == .milliseconds(told))
    }
  }

  @Test func `what was sent twice for nothing is not lost`() {
    var meter = QualityMeter()
    _ = meter.handle(Self.look(4, (0..<5).map { Self.facts($0, acknowledged: 1, sent: 0) }))
    let connections = (0..<5).map { Self.facts($0, acknowledged: 9, sent: 1_000, repeated: 30, duplicated: 20) }
    #expect(meter.handle(Self.look(8, connections)).lossPercent == 1)
    // If there are more duplicates than repetitions, the network has duplicated segments.
    let more = (0..<5).map { Self.facts($0, acknowledged: 19, sent: 2_000, repeated: 40, duplicated: 90) }
    #expect(meter.handle(Self.look(12, more)).lossPercent == 0)
  }

  @Test func `a duplicate that is reported after the look at which its repetition counted is no loss`() {
    var meter = QualityMeter()
    func look(_ step: Double, sent: UInt32, repeated: UInt32, duplicated: UInt32) -> Double? {
      let connections = (0..<5).map {
        Self.facts($0, acknowledged: UInt64(sent), sent: sent, repeated: repeated, duplicated: duplicated)
      }
      return meter.handle(Self.look(4 * step, connections)).lossPercent
    }
    _ = look(1, sent: 100, repeated: 0, duplicated: 0)
    // The kernel repeats segments too early, and hears that one round trip later.
    #expect(look(2, sent: 500, repeated: 3, duplicated: 0) == 0.8)
    #expect(look(3, sent: 900, repeated: 3, duplicated: 3) == 0)
    // A late duplicate takes back at most what counted at the look before.
    #expect(look(4, sent: 1_300, repeated: 4, duplicated: 3) == 0.1)
    #expect(look(5, sent: 1_700, repeated: 4, duplicated: 90) == 0)
  }

  @Test func `few segments prove no loss, and no loss of nothing`() {
    var meter = QualityMeter()
    let none = (0..<5).map { Self.facts($0, acknowledged: 1, sent: 0) }
    #expect(meter.handle(Self.look(4, none)).lossPercent == nil)
    let few = (0..<5).map { Self.facts($0, acknowledged: 9, sent: 19, repeated: 1) }
    #expect(meter.handle(Self.look(8, few)).lossPercent == nil)
    let enough = (0..<5).map { Self.facts($0, acknowledged: 19, sent: 20, repeated: 1) }
    #expect(meter.handle(Self.look(12, enough)).lossPercent == 5)
  }

  @Test func `another link, and a suspend, are a new beginning that measures nothing yet`() {
    let connections = (0..<5).map { Self.facts($0, acknowledged: 5_000, sent: 1_000, repeated: 50) }
    let later = (0..<5).map { Self.facts($0, rtt: 90, acknowledged: 6_000, sent: 2_000, repeated: 60) }
    var base = QualityMeter()
    _ = base.handle(Self.look(4, connections))
    let other = (index: Int32(3), name: InterfaceName("eth0"))
    for change in 0..<3 {
      var meter = base
      if change == 2 { meter.forget() }
      let link = change == 0 ? other : Self.link
      let suspended = change == 1 ? 60.0 : 0
      let first = meter.handle(Self.look(8, suspended: suspended, over: link, connections))
      #expect(first.connections == 0)
      #expect(first.roundTripTime == nil)
      #expect(first.lossPercent == nil)
      let second = meter.handle(Self.look(12, suspended: suspended, over: link, later))
      #expect(second.connections == 5)
      #expect(second.roundTripTime == .milliseconds(90))
      #expect(second.lossPercent == 1)
      #expect(second.interfaceName == link.name.text)
    }
  }

  @Test func `a connection that begins between two looks counts from its beginning`() {
    var meter = QualityMeter()
    _ = meter.handle(Self.look(4, []))
    let connections = (0..<3).map { Self.facts($0, acknowledged: 5_000, sent: 1_000, repeated: 20) }
    #expect(meter.handle(Self.look(8, connections)).lossPercent == 2)
    // A connection may also end between two looks.
    #expect(meter.handle(Self.look(12, [])).connections == 3)
  }

  @Test func `counters that begin anew, and counters that wrap around, are no peaks`() {
    var meter = QualityMeter()
    let old = (0..<3).map { Self.facts($0, acknowledged: 5_000, sent: .max - 99, repeated: .max) }
    _ = meter.handle(Self.look(4, old))
    let wrapped = (0..<3).map { Self.facts($0, acknowledged: 6_000, sent: 100, repeated: 1) }
    #expect(meter.handle(Self.look(8, wrapped)).lossPercent == 1)
    let gone = (0..<3).map { Self.facts($0, rtt: 0, acknowledged: 0, sent: 0) }
    let figures = meter.handle(Self.look(12, gone))
    #expect(figures.lossPercent == 1)
    #expect(figures.roundTripTime == .milliseconds(20))
  }

  @Test(arguments: [0, 0.01, 0.05])
  func `loss is right within half a point, whatever it was before`(_ loss: Double) {
    for former in [0, 0.01, 0.05] {
      var errors: [Double] = []
      for seed in 0..<40 {
        var world = World(seed: UInt64(seed))
        world.loss = former
        for _ in 0..<30 { _ = world.look() }
        world.loss = loss
        for _ in 0..<6 { _ = world.look() }
        errors.append(abs((world.look().lossPercent ?? 99) - loss * 100))
      }
      #expect(errors.max() ?? 99 < 1, "\(former) to \(loss): \(errors)")
      #expect(errors.count { $0 > 0.5 } <= 2, "\(former) to \(loss): \(errors)")
    }
  }

  @Test(arguments: [300 as UInt32, 2_000, 50_000])
  func `a link that degrades is told within two looks, however much was sent before`(_ segments: UInt32) {
    for seed in 0..<40 {
      var world = World(seed: UInt64(seed))
      world.segments = 50_000
      var news = QualityNews()
      for _ in 0..<15 { _ = news.take(world.look(), at: .seconds(world.time)) }
      (world.loss, world.roundTrip, world.segments) = (0.05, 20, segments)
      var told: [Double] = []
      for _ in 0..<2 {
        let figures = world.look()
        if news.take(figures, at: .seconds(world.time)) { told.append(figures.lossPercent ?? 0) }
      }
      #expect(told.last ?? 0 > 2, "\(seed): \(told)")
      (world.loss, world.roundTrip) = (0.05, 80)
      let first = world.look()
      #expect(first.roundTripTime == .milliseconds(20))
      let figures = world.look()
      let isNews = news.take(figures, at: .seconds(world.time))
      #expect(isNews)
      #expect(figures.roundTripTime == .milliseconds(80))
    }
  }

  @Test func `a link that stays as it is makes few lines, and the last one is right`() {
    var lines = 0
    for seed in 0..<20 {
      var world = World(seed: UInt64(seed))
      world.loss = 0.01
      var news = QualityNews()
      for _ in 0..<10 { _ = news.take(world.look(), at: .seconds(world.time)) }
      var told: LinkQuality?
      for _ in 0..<100 {
        world.roundTrip = 50 + Double.random(in: -2...2, using: &world.random)
        let figures = world.look()
        if news.take(figures, at: .seconds(world.time)) {
          told = figures
          lines += 1
        }
      }
      if let told { #expect(abs((told.lossPercent ?? 99) - 1) < 0.5) }
    }
    // There are 2,000 looks.
    #expect(lines < 350, "\(lines)")
  }

  @Test func `quality is published only if it differs enough`() {
    func quality(_ time: Int?, _ loss: Int?, _ name: String = "wlan0") -> LinkQuality {
      LinkQuality(
        kernelName: InterfaceName(name), interfaceIndex: 2, connections: 5, tenthsOfMilliseconds: time,
        tenthsOfPercent: loss)
    }
    func isNews(_ quality: LinkQuality, after seconds: Int = 4) -> Bool {
      var news = QualityNews()
      _ = news.take(
        LinkQuality(
          kernelName: InterfaceName("wlan0"), interfaceIndex: 2, connections: 5, tenthsOfMilliseconds: 500,
          tenthsOfPercent: 10), at: .seconds(100))
      return news.take(quality, at: .seconds(100 + seconds))
    }
    var news = QualityNews()
    let isFirst = news.take(quality(nil, nil), at: .zero)
    #expect(isFirst)
    let isSame = news.take(quality(nil, nil), at: .seconds(1_000))
    #expect(!isSame)
    #expect(isNews(quality(nil, 10)))
    #expect(isNews(quality(500, nil)))
    #expect(isNews(quality(500, 10, "wlan1")))
    #expect(!isNews(quality(600, 15)))
    #expect(!isNews(quality(400, 5)))
    #expect(isNews(quality(601, 10)))
    #expect(isNews(quality(399, 10)))
    #expect(isNews(quality(500, 16)))
    // A smaller difference is told after it has lasted.
    #expect(!isNews(quality(525, 11), after: 8))
    #expect(isNews(quality(526, 10), after: 8))
    #expect(isNews(quality(500, 12), after: 8))
  }
}
