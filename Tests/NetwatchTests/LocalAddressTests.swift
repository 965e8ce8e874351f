import NetwatchTestSupport
import Testing

@testable import Netwatch

/// The addresses that traffic leaves from.
@Suite struct LocalAddressTests {
  @Test func `the local addresses are all those of the link`() throws {
    var kernel = ScriptedKernel.onlineTwice()
    #expect(try #require(kernel.published.last).localAddresses == [.ip("10.0.0.1"), .ip("2001:db8:1::1")])
    kernel.facts.append(.address(2, .ip("10.0.0.9")))
    kernel.start()
    #expect(try #require(kernel.published.last).localAddresses.contains(.ip("10.0.0.9")))
  }

  @Test func `through a tunnel the local addresses are the tunnel's`() throws {
    var kernel = ScriptedKernel(.init())
    kernel.facts = ScriptedKernel.uplinks + ScriptedKernel.tunnel(10, "tailscale0", kind: "tun")
    kernel.answers[.ipv4] = .via(10, nil, from: .ip("10.8.10.2"), table: 52)
    kernel.answers[.beneath(.ipv4, .rules)] = .rules(RoutingRule.tailscale)
    kernel.answers[.beneath(.ipv4, .marked(0x80000))] = .via(3, .ip("10.1.0.254"), from: .ip("10.1.0.1"))
    kernel.start()
    let path = try #require(kernel.published.last)
    #expect(path.interfaceName == "wlan0")
    #expect(path.vpn?.interfaceName == "tailscale0")
    #expect(path.localAddresses == [.ip("10.8.10.2"), .ip("fd00:10::2")])
  }

  @Test func `without a list of links the local addresses are the source addresses`() {
    var verdict = NetworkPath.Verdict(status: .wifi)
    (verdict.interfaceIndex, verdict.interfaceName) = (2, "eth0")
    verdict.ipv4 = .init(address: .ip("10.0.0.1"), gateway: nil, interfaceIndex: 2)
    // The IPv6 source address is that of another link.
    verdict.ipv6 = .init(address: .ip("2001:db8:1::1"), gateway: nil, interfaceIndex: 3)
    let path = NetworkPath(verdict: verdict, reason: .initial, interfaces: [])
    #expect(path.localAddresses == [.ip("10.0.0.1"), .ip("2001:db8:1::1")])
    #expect(NetworkPath(verdict: .notReachable, reason: .noRoute, interfaces: []).localAddresses == [])
  }
}
