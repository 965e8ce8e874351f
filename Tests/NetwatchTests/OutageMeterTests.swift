import NetwatchTestSupport
import Testing

@testable import Netwatch

@Suite struct OutageMeterTests {
  private static func path(_ status: ReachabilityStatus, _ reason: ReachabilityReason) -> NetworkPath {
    NetworkPath(verdict: NetworkPath.Verdict(status: status), reason: reason, interfaces: InterfaceTable())
  }

  /// Returns a meter that has noted paths at these times in milliseconds.
  private func meter(_ paths: [(milliseconds: Int, ReachabilityStatus, ReachabilityReason)]) -> OutageMeter {
    var meter = OutageMeter()
    for (time, status, reason) in paths {
      meter.note(Self.path(status, reason), at: .milliseconds(time), wall: Int64(time))
    }
    return meter
  }

  @Test func `an outage of 50 ms counts, and so does its time`() {
    let meter = meter([(1_000, .wifi, .initial), (5_000, .notReachable, .noCarrier), (5_050, .wifi, .routeUp)])
    #expect(meter.counts == [.noCarrier: 1])
    #expect(meter.time(at: .seconds(900)) == .milliseconds(50))
  }

  @Test func `an outage that has not ended counts with its time so far`() {
    let meter = meter([
      (0, .wwan, .initial), (100, .notReachable, .noRoute), (300, .wwan, .routeUp), (1_000, .notReachable, .noRoute),
    ])
    #expect(meter.counts == [.noRoute: 2])
    #expect(meter.time(at: .milliseconds(1_000)) == .milliseconds(200))
    #expect(meter.time(at: .milliseconds(3_500)) == .milliseconds(2_700))
  }

  @Test func `an outage that is there at the start counts from the start`() {
    let meter = meter([(7_000, .notReachable, .linkDown)])
    #expect(meter.counts == [.linkDown: 1])
    #expect(meter.time(at: .milliseconds(7_250)) == .milliseconds(250))
  }

  @Test func `a path that is published again within an outage begins no other one`() {
    let meter = meter([
      (0, .wifi, .initial), (100, .notReachable, .noCarrier), (200, .notReachable, .linkDown), (400, .wifi, .routeUp),
    ])
    #expect(meter.counts == [.noCarrier: 1])
    #expect(meter.time(at: .seconds(9)) == .milliseconds(300))
  }

  @Test func `while the status is unknown, an outage neither begins nor ends nor lasts`() {
    let unknown = meter([(0, .wifi, .initial), (100, .unknown, .unresolved), (900, .wifi, .resynced)])
    #expect(unknown.counts.isEmpty && unknown.time(at: .seconds(9)) == .zero)
    let within = meter([
      (0, .wifi, .initial), (100, .notReachable, .noCarrier), (300, .unknown, .unresolved),
      (5_000, .notReachable, .noCarrier), (5_100, .wifi, .routeUp),
    ])
    #expect(within.counts == [.noCarrier: 1])
    #expect(within.time(at: .seconds(9)) == .milliseconds(300))
  }

  @Test func `the last change is that between reachable and not`() {
    #expect(meter([(5, .unknown, .unresolved)]).lastChange == nil)
    #expect(meter([(5, .unknown, .unresolved), (9, .wifi, .initial), (12, .wwan, .mediumChanged)]).lastChange == 9)
    let lost: [(Int, ReachabilityStatus, ReachabilityReason)] = [
      (1, .wifi, .initial), (2, .notReachable, .noCarrier), (3, .notReachable, .linkDown), (4, .unknown, .unresolved),
      (5, .notReachable, .noRoute),
    ]
    #expect(meter(lost).lastChange == 2 && meter(lost).reason == .noRoute)
    #expect(meter(Array(lost.dropLast())).reason == nil)
    #expect(meter(lost + [(6, .wwan, .routeUp), (7, .unknown, .unresolved), (8, .wifi, .resynced)]).lastChange == 6)
  }

  @Test func `no order of times makes the time shorter`() {
    var meter = OutageMeter()
    var generator = SplitMix(seed: 22)
    var before = Duration.zero
    for _ in 0..<10_000 {
      let now = Duration.nanoseconds(Int64.random(in: 0...Int64.max, using: &generator))
      let status = [ReachabilityStatus.unknown, .notReachable, .wifi].randomElement(using: &generator) ?? .wifi
      meter.note(Self.path(status, .noRoute), at: now, wall: 0)
      #expect(meter.time(at: now) >= before)
      before = meter.time(at: now)
    }
  }
}
