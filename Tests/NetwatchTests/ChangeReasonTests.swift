import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct ChangeReasonTests {
  static let wireless = DeviceTraits(type: "wlan", isWireless: true)
  static let wifiRoute = RouteAnswer.via(3, .ip("10.1.0.254"), from: .ip("10.1.0.1"))

  static func withTwoLinks(_ second: NetworkEvent) -> ScriptedKernel {
    var kernel = ScriptedKernel.online()
    kernel.tell(second, .address(3, .ip("10.1.0.1")))
    kernel.forget()
    return kernel
  }

  @Test func `coming back is route_up, whatever the link`() {
    var kernel = ScriptedKernel.online()
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.suffix(2) == ["not-reachable no_route -", "wifi route_up eth0"])
  }

  @Test func `a loss and a gain in one turn are no loss`() {
    var kernel = ScriptedKernel.online(.withInterfaces)
    kernel.forget()
    kernel.tell(.link(2, "eth0", .noCarrier), .link(2, "eth0", .up))
    #expect(kernel.story == [])
  }

  @Test func `another list of links does not hide why nothing is reachable`() {
    var kernel = ScriptedKernel.online(.withInterfaces)
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.forget()
    kernel.tell(.link(3, "eth1", .noCarrier))
    #expect(kernel.story == ["not-reachable interfaces -"])
    #expect(kernel.published.last?.interfaces.map(\.name) == ["lo", "eth0", "eth1"])
    #expect(kernel.published.last?.reason == .noCarrier)
    #expect(kernel.published.last?.sentence().hasPrefix("Offline: eth0 and eth1 have no carrier.") == true)
  }

  @Test func `another medium comes before another interface`() {
    var kernel = Self.withTwoLinks(.link(3, "wlan0", device: Self.wireless))
    kernel.answers[.ipv4] = Self.wifiRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wifi medium_changed wlan0"])
    #expect(kernel.published.map(\.medium) == [.wifi])
  }

  @Test func `another interface comes before another address`() {
    var kernel = Self.withTwoLinks(.link(3, "eth1"))
    kernel.answers[.ipv4] = Self.wifiRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wifi interface_changed eth1"])
  }

  @Test func `a modem is wwan and expensive`() {
    var kernel = Self.withTwoLinks(.link(3, "wwan0", .unknown, kind: "wwan", hardwareType: 65534))
    kernel.answers[.ipv4] = Self.wifiRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wwan medium_changed wwan0"])
    #expect(kernel.published.map(\.isExpensive) == [true])
  }

  @Test(arguments: [
    RouteAnswer.via(2, .ip("10.0.0.253"), from: .ip("10.0.0.1")), .via(2, nil, from: .ip("10.0.0.1")),
    .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.2")),
  ])
  func `another source or gateway is address_changed`(_ answer: RouteAnswer) {
    var kernel = ScriptedKernel.online()
    kernel.tell(.address(2, .ip("10.0.0.2")))
    kernel.forget()
    kernel.answers[.ipv4] = answer
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wifi address_changed eth0"])
  }

  @Test func `another metric is no change`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"), metric: 700)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.published.isEmpty)
  }

  @Test func `a renamed link is another interface`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(.link(2, "uplink"))
    #expect(kernel.story == ["wifi interface_changed uplink"])
  }

  @Test func `the second family comes and goes as address_changed`() {
    var kernel = ScriptedKernel.online()
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.tell(.address(2, .ip("2001:db8:1::1"), 64))
    kernel.answers[.ipv6] = .noRoute
    kernel.tell(.routing(.ipv6, isRemoval: true))
    #expect(kernel.story == ["wifi initial eth0", "wifi address_changed eth0", "wifi address_changed eth0"])
    #expect(kernel.published.map(\.supportsIPv6) == [false, true, false])
  }

  @Test func `IPv4 names the link where both families are reachable`() {
    var kernel = Self.withTwoLinks(.link(3, "wlan0", device: Self.wireless))
    kernel.answers[.ipv6] = .via(3, .ip("fe80::1"), from: .ip("2001:db8:2::1"))
    kernel.tell(.address(3, .ip("2001:db8:2::1"), 64))
    #expect(kernel.story == ["wifi address_changed eth0"])
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    #expect(kernel.story.last == "wifi medium_changed wlan0")
  }

  @Test func `a phone on USB becomes expensive without another medium`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(.link(2, "eth0", device: DeviceTraits(isTether: true)))
    #expect(kernel.story.first?.hasPrefix("wifi ") == true)
    #expect(kernel.published.last?.isExpensive == true)
    #expect(kernel.published.last?.medium == .wired)
  }
}
