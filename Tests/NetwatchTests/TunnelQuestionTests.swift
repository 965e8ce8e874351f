import Netwatch
import NetwatchTestSupport
import Testing

/// What is watched and asked because of tunnels, and what is not.
@Suite struct TunnelQuestionTests {
  typealias Kernel = ScriptedKernel

  // MARK: Which routes are watched

  @Test func `the other ends of tunnels are watched as long as there are any`() {
    var kernel = Kernel.online()
    #expect(kernel.watch.addresses.isEmpty)
    #expect(kernel.watches.count == 0)
    kernel.tell(.link(10, "t0", .down, kind: "gre", remote: .ip("198.51.100.7")))
    #expect(kernel.watches.count == 1)
    #expect(kernel.watch.addresses.last == .ip("198.51.100.7"))
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.7")))
    #expect(kernel.watches.count == 1)
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.8")))
    #expect(kernel.watches.count == 2)
    kernel.tell(.linkRemoved(index: 10))
    #expect(kernel.watches.count == 3)
    #expect(kernel.watch.addresses.isEmpty)
  }

  @Test func `an other end that only reading the link has told is watched before it is asked about`() throws {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: "vxlan", lower: 2)
    kernel.start()
    kernel.forget()
    kernel.links[10] = .link(
      10, "t0", .unknown, kind: "vxlan", hardwareType: 65534, lower: 2, remote: .ip("198.51.100.7"))
    kernel.tell(.link(2, "eth0", .unknown))
    let watch = try #require(kernel.watches.first)
    let question = try #require(kernel.position(of: .beneath(.ipv4, .remote(tunnel: 10))))
    #expect(watch < question)
  }

  @Test func `a listing without a tunnel that had another end`() {
    var kernel = Kernel.online()
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.7")))
    kernel.forget()
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.watches.count == 1)
  }

  // MARK: Which links count

  @Test func `the filter is about the links that routes lead to, not about what lies beneath`() {
    func story(_ names: Set<String>) -> String {
      var configuration = MonitorConfiguration()
      configuration.includesInterface = { names.contains($0) }
      var kernel = Kernel.openVPN(configuration)
      kernel.answers[RouteRequest(.ipv4, .link(2))] = Kernel.route(over: 2, metric: 100)
      kernel.answers[RouteRequest(.ipv4, .link(10))] = .via(10, nil, from: nil)
      kernel.start()
      return kernel.carrier
    }
    // The filters are those of `-i tun0` and `--ignore eth0`.
    #expect(story(["tun0"]) == "eth0 tun0 wired")
    #expect(story(["tun0", "wlan0", "wwan0"]) == "eth0 tun0 wired")
    // With `--ignore tun0`, the path is the one past the tunnel.
    #expect(story(["eth0", "wlan0", "wwan0"]) == "eth0 * wired")
    #expect(story(["wwan0"]) == "* * *")
  }

  @Test func `a second tunnel may be all that counts`() {
    var configuration = MonitorConfiguration()
    configuration.includesInterface = { $0 == "wg0" }
    var kernel = Kernel.openVPN(configuration)
    kernel.facts += Kernel.tunnel(11, "wg0")
    kernel.answers[RouteRequest(.ipv4, .link(11))] = .via(11, nil, from: nil, metric: 900)
    kernel.start()
    #expect(kernel.carrier == "eth0 wg0 wired")
  }

  // MARK: What it costs

  @Test func `an unrelated fact asks nothing, with a tunnel too`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.forget()
    kernel.tell(.link(2, "eth0"), .address(2, .ip("10.0.0.1")))
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `ports of bridges lead nowhere by themselves, and are not asked`() {
    var kernel = Kernel.openVPN()
    kernel.facts += [.link(20, "br0", kind: "bridge"), .link(40, "vrf0", kind: "vrf")]
    kernel.facts += [.link(21, "veth1", kind: "veth", master: 20), .link(41, "eth9", master: 40)]
    kernel.start()
    let links = kernel.lookUps.compactMap { if case .link(let index) = $0.scope { index } else { nil } }
    #expect(!links.contains(21))
    #expect(links.contains(41))
  }
}
