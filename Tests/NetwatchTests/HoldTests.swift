import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct HoldTests {
  static let configuration: MonitorConfiguration = {
    var configuration = MonitorConfiguration()
    configuration.hold = .seconds(5)
    return configuration
  }()

  static func kernel() -> ScriptedKernel {
    var kernel = ScriptedKernel.online(configuration)
    kernel.advance(by: .seconds(100))
    kernel.forget()
    return kernel
  }

  @Test func `a loss waits for the whole hold, with the reason of the loss`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.timers == [.hold: .seconds(105)])
    kernel.advance(by: .milliseconds(4_999))
    #expect(kernel.published.allSatisfy { $0.isReachable })
    kernel.advance(by: .milliseconds(1))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    #expect(kernel.timers.isEmpty)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(1 << 40)])
  func `a hold that no clock can hold is one of a hundred years`(_ hold: Duration) {
    var configuration = MonitorConfiguration()
    configuration.hold = hold
    var kernel = ScriptedKernel.online(configuration)
    kernel.advance(by: .seconds(100))
    kernel.forget()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.timers == [.hold: .seconds(3_155_760_100)])
    kernel.tell(.link(2, "eth0"))
    #expect(kernel.timers.isEmpty && kernel.published.allSatisfy { $0.isReachable })
  }

  @Test func `a hold below zero is none`() {
    var configuration = MonitorConfiguration()
    configuration.hold = .seconds(Int64.min)
    var kernel = ScriptedKernel.online(configuration)
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `a return in time publishes nothing about reachability and disarms the timer`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    kernel.advance(by: .seconds(4))
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.timers.isEmpty)
    kernel.advance(by: .seconds(60))
    #expect(kernel.story == [])
  }

  @Test func `churn counts from the first loss`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    for second in 1...4 {
      kernel.advance(by: .seconds(1))
      kernel.tell(.link(2, "eth0", second.isMultiple(of: 2) ? .noCarrier : .dormant))
    }
    #expect(kernel.timers == [.hold: .seconds(105)])
    kernel.advance(by: .seconds(1))
    #expect(kernel.published.last?.status == .notReachable)
  }

  @Test func `a second loss after a return has a hold of its own`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.advance(by: .seconds(4))
    kernel.tell(.link(2, "eth0"))
    kernel.advance(by: .seconds(4))
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.timers == [.hold: .seconds(113)])
    kernel.advance(by: .milliseconds(4_999))
    #expect(kernel.published.allSatisfy { $0.isReachable })
  }

  @Test func `another path in time is published at once`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier), .link(3, "eth1"), .address(3, .ip("10.1.0.1")))
    kernel.answers[.ipv4] = .via(3, .ip("10.1.0.254"), from: .ip("10.1.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi interface_changed eth1")
    #expect(kernel.timers.isEmpty)
    kernel.advance(by: .seconds(60))
    #expect(kernel.story.last == "wifi interface_changed eth1")
  }

  @Test func `good news and the first path never wait`() {
    var kernel = ScriptedKernel(Self.configuration)
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.start()
    #expect(kernel.story == ["not-reachable no_route -"])
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi route_up eth0")
    #expect(kernel.timers.isEmpty)
  }

  @Test func `a loss behind a loss is not published twice`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.advance(by: .seconds(10))
    kernel.forget()
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.link(2, "eth0", .down))
    kernel.advance(by: .seconds(60))
    #expect(kernel.story == ["not-reachable interfaces -"])
  }

  @Test func `a hold that ends while links are listed publishes what was concluded, not a half list`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.advance(by: .milliseconds(4_990))
    kernel.forget()
    // The listing says that the carrier is back, but it is complete only after the hold.
    kernel.interruptions = 9
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.timers.count == 2)
    kernel.advance(by: .milliseconds(20))
    #expect(kernel.published.map(\.status) == [.notReachable])
    kernel.advance(by: .seconds(1))
    #expect(kernel.published.map(\.status) == [.notReachable, .wifi])
    #expect(kernel.published.last?.reason == .resynced)
  }

  @Test func `unknown ends a hold`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.forget()
    kernel.refusedListings = 9
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story == ["unknown unresolved -"])
    #expect(!kernel.timers.keys.contains(.hold))
  }
}
