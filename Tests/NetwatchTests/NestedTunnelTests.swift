import Netwatch
import NetwatchTestSupport
import Testing

/// Tunnels that run through other tunnels.
@Suite struct NestedTunnelTests {
  typealias Kernel = ScriptedKernel

  /// Returns a kernel with tunnels from link 10 on. Each tunnel leads to its other end through the next one, and the
  /// last tunnel over eth0.
  static func chain(_ count: Int32) -> Kernel {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks
    for index in 10..<(10 + count) {
      kernel.facts += Kernel.tunnel(index, "t\(index)", kind: "gre", remote: .ip("198.51.100.\(index)"))
      kernel.answers[.beneath(.ipv4, .remote(tunnel: index))] =
        index + 1 < 10 + count ? Kernel.into(index + 1) : Kernel.over(2)
    }
    return kernel
  }

  @Test(arguments: 1...8) func `up to eight are looked through`(_ count: Int32) {
    var kernel = Self.chain(count)
    kernel.start()
    #expect(kernel.carrier == "eth0 t10 wired")
  }

  @Test func `nine are too many`() {
    var kernel = Self.chain(9)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
  }

  @Test func `the innermost to fail says why`() {
    var kernel = Self.chain(3)
    kernel.start()
    kernel.tell(.link(12, "t12", .noCarrier, kind: "gre", hardwareType: 65534, remote: .ip("198.51.100.12")))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `a tunnel whose mark leads into another one`() {
    var kernel = Kernel.wgQuick()
    kernel.facts += Kernel.tunnel(11, "tun0", kind: "tun")
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.into(11)
    kernel.answers[.beneath(.ipv4, .link(2))] = Kernel.route(over: 2)
    kernel.start()
    #expect(kernel.carrier == "eth0 wg0 wired")
    #expect(kernel.published.last?.vpn?.interfaceIndex == 10)
  }

  @Test func `two tunnels, each with a table and a mark of its own`() {
    var kernel = Kernel.wgQuick()
    kernel.facts += Kernel.tunnel(11, "wg1")
    var rules = RoutingRule.wgQuick
    rules.insert(.unlessMark(7, table: 7), at: 3)
    for family in AddressFamily.allCases { kernel.answers[.beneath(family, .rules)] = .rules(rules) }
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.into(11, table: 7)
    kernel.answers[.beneath(.ipv4, .marked(7))] = Kernel.over(3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 wg0 wifi")
  }

  @Test func `a tunnel that names another one as its link`() {
    var kernel = Kernel.openVPN()
    kernel.facts += Kernel.tunnel(11, "xfrm0", kind: "xfrm", lower: 10)
    kernel.answers[.ipv4] = Kernel.into(11)
    kernel.start()
    #expect(kernel.carrier == "eth0 xfrm0 wired")
    #expect(kernel.published.last?.vpn?.kind == .xfrm)
  }

  // MARK: Loops

  @Test func `two tunnels whose other ends lie behind each other`() {
    var kernel = Self.chain(2)
    kernel.answers[.beneath(.ipv4, .remote(tunnel: 11))] = Kernel.into(10)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
    #expect(kernel.lookUps.count { $0.scope != .rules } < 10)
    kernel.answers[.beneath(.ipv4, .remote(tunnel: 11))] = Kernel.over(3)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi route_up wlan0")
  }

  @Test func `a tunnel whose other end lies behind itself`() {
    var kernel = Self.chain(1)
    kernel.answers[.beneath(.ipv4, .remote(tunnel: 10))] = Kernel.into(10)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
  }

  @Test func `a mark that leads back into its own tunnel`() {
    var kernel = Kernel.wgQuick()
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.into(10)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
  }

  @Test func `tunnels that name each other as their link`() {
    var kernel = Kernel.openVPN()
    kernel.facts =
      Kernel.uplinks + Kernel.tunnel(10, "x0", kind: "xfrm", lower: 11)
      + Kernel.tunnel(11, "x1", kind: "xfrm", lower: 10)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
  }

  /// Each of the twelve tunnels has a table and a mark. The marks lead into tunnels, but never out.
  @Test func `tunnels that all lead to one another are each examined once`() {
    var kernel = Kernel(.init())
    kernel.facts = Kernel.uplinks
    var rules: [RoutingRule] = []
    for index in Int32(10)..<22 {
      kernel.facts += Kernel.tunnel(index, "wg\(index)")
      for other in Int32(10)..<22 { rules.append(.unlessMark(UInt32(other), table: UInt32(index))) }
      for family in AddressFamily.allCases {
        kernel.answers[.beneath(family, .marked(UInt32(index)))] = Kernel.into(index, family, table: UInt32(index))
      }
    }
    kernel.answers[.ipv4] = Kernel.into(10, table: 10)
    kernel.answers[.beneath(.ipv4, .rules)] = .rules(rules)
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
    let machine = kernel.machine
    let findings = PathExplanation(of: .internet, machine.evaluator, machine.answers, machine.destinations, [:])
    var searches: [Int32: Int] = [:]
    for case .tunnel(let index, _, .marks) in findings.steps { searches[index, default: 0] += 1 }
    // Eight tunnels are examined, because tunnels are followed no deeper than that.
    #expect(searches.count == 8 && searches.values.allSatisfy { $0 == 1 }, "\(searches)")
  }
}
