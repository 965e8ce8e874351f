import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct MediumTests {
  struct Kind: CustomTestStringConvertible, Sendable {
    var testDescription: String { "\(name) \(kind ?? "-") \(hardwareType) \(device.type ?? "-")" }
    var name = "x0"
    var kind: String? = nil
    var hardwareType: UInt16 = 1
    var device = DeviceTraits()
    let medium: Medium
  }

  @Test(arguments: [
    Kind(name: "lo", hardwareType: 772, medium: .other),
    Kind(name: "wlan0", device: DeviceTraits(type: "wlan", isWireless: true), medium: .wifi),
    Kind(name: "wlan0", device: DeviceTraits(isWireless: true), medium: .wifi),
    Kind(name: "wlp3s0", device: DeviceTraits(type: "wlan"), medium: .wifi),
    Kind(name: "wwan0", kind: "wwan", hardwareType: 65534, device: DeviceTraits(type: "wwan"), medium: .wwan),
    Kind(name: "wwan0", kind: "wwan", medium: .wwan),
    Kind(name: "enx0", device: DeviceTraits(type: "wwan"), medium: .wwan),
    Kind(name: "rmnet_data0", kind: "rmnet", hardwareType: 519, medium: .wwan),
    Kind(name: "rmnet0", medium: .wwan), Kind(name: "rev_rmnet3", medium: .wwan), Kind(name: "ccmni1", medium: .wwan),
    Kind(name: "rmnet0", hardwareType: 519, medium: .wwan), Kind(name: "usb0", hardwareType: 519, medium: .wwan),
    Kind(name: "upnlink0", hardwareType: 530, medium: .wwan),
    Kind(name: "rmnet0", kind: "veth", medium: .virtual), Kind(name: "xrmnet0", medium: .wired),
    Kind(name: "bnep0", device: DeviceTraits(type: "bluetooth"), medium: .bluetooth),
    Kind(name: "ppp0", kind: "ppp", hardwareType: 512, device: DeviceTraits(type: "ppp"), medium: .other),
    Kind(name: "ppp0", hardwareType: 512, medium: .other),
    Kind(name: "eth0", medium: .wired), Kind(name: "enp1s0", device: DeviceTraits(isTether: true), medium: .wired),
    Kind(name: "usb0", device: DeviceTraits(type: "gadget"), medium: .wired),
    Kind(name: "lan1", device: DeviceTraits(type: "dsa"), medium: .wired),
    Kind(name: "eth9", device: DeviceTraits(type: "unheard-of"), medium: .other),
    Kind(name: "ib0", hardwareType: 32, medium: .wired),
    // Newer kernels give these kinds to the same hardware.
    Kind(name: "lan1", kind: "dsa", medium: .wired), Kind(name: "ib0", kind: "ipoib", hardwareType: 32, medium: .wired),
    Kind(name: "bond0", kind: "bond", hardwareType: 32, medium: .other),
    Kind(name: "veth0", kind: "veth", medium: .virtual), Kind(name: "dummy0", kind: "dummy", medium: .other),
    Kind(name: "br0", kind: "bridge", device: DeviceTraits(type: "bridge"), medium: .other),
    Kind(name: "bond0", kind: "bond", device: DeviceTraits(type: "bond"), medium: .other),
    Kind(name: "team0", kind: "team", medium: .other),
    Kind(name: "v5", kind: "vlan", device: DeviceTraits(type: "vlan"), medium: .other),
    Kind(name: "wg0", kind: "wireguard", hardwareType: 65534, device: DeviceTraits(type: "wireguard"), medium: .other),
    Kind(name: "tun0", kind: "tun", hardwareType: 65534, medium: .other),
    Kind(name: "tap0", kind: "tun", medium: .other),
    Kind(name: "vrf0", kind: "vrf", medium: .other), Kind(name: "sit0", kind: "sit", hardwareType: 776, medium: .other),
    Kind(name: "tunl0", kind: "ipip", hardwareType: 768, medium: .other),
    Kind(name: "gre0", kind: "gre", hardwareType: 778, medium: .other),
    Kind(name: "vx0", kind: "vxlan", device: DeviceTraits(type: "vxlan"), medium: .other),
    Kind(name: "hwsim0", hardwareType: 803, medium: .other),
  ])
  func `the first rule that matches decides`(_ link: Kind) {
    let medium = Medium.classify(
      name: link.name, kind: link.kind, hardwareType: link.hardwareType, device: link.device)
    #expect(medium == link.medium)
  }

  @Test func `the user says which line is a modem's`() {
    var configuration = MonitorConfiguration.withInterfaces
    configuration.isModem = { $0.hasPrefix("ppp") }
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [
      .loopback, .link(2, "ppp0", .unknown, kind: "ppp", hardwareType: 512), .address(2, .ip("10.0.0.1")),
      .link(3, "dsl0", .unknown, kind: "ppp", hardwareType: 512), .address(3, .ip("10.1.0.1")),
      .link(4, "wg0", .unknown, kind: "wireguard", hardwareType: 65534), .address(4, .ip("10.2.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, nil, from: .ip("10.0.0.1"))
    kernel.start()
    #expect(kernel.story == ["wwan initial ppp0"])
    #expect(kernel.published.last?.isExpensive == true)
    #expect(kernel.published.last?.interfaces.map(\.medium) == [.other, .wwan, .other, .other])
    kernel.answers[.ipv4] = .via(3, nil, from: .ip("10.1.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi medium_changed dsl0")
    #expect(kernel.published.last?.isExpensive == false)
    // The name that the link has now decides.
    kernel.tell(.link(3, "ppp1", .unknown, kind: "ppp", hardwareType: 512))
    #expect(kernel.story.last == "wwan medium_changed ppp1")
    // The name decides whatever else the link may be: even a tunnel is a modem then, and nothing is looked for beneath
    // it.
    kernel.answers[.ipv4] = .via(4, nil, from: .ip("10.2.0.1"))
    kernel.tell(.link(4, "pppx", .unknown, kind: "wireguard", hardwareType: 65534))
    #expect(kernel.story.last == "wwan interface_changed pppx")
    #expect(kernel.published.last?.vpn == nil)
  }

  @Test func `the user says what may cost money`() throws {
    var configuration = MonitorConfiguration()
    configuration.isExpensive = { name, network in
      switch (name, network?.text) {
      case ("usb0", _): false
      case (_, "Train"?), ("br0", _): true
      default: nil
      }
    }
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [
      .loopback, .link(2, "usb0", device: DeviceTraits(isTether: true)), .address(2, .ip("10.0.0.1")),
      .link(3, "wlan0", device: DeviceTraits(isWireless: true)), .address(3, .ip("10.1.0.1")),
      .link(4, "br0", kind: "bridge"), .address(4, .ip("10.2.0.1")), .link(5, "eth0", master: 4),
      .link(6, "phone0", device: DeviceTraits(isTether: true)), .address(6, .ip("10.3.0.1")),
    ]
    func use(_ index: Int32, _ source: String) {
      kernel.answers[.ipv4] = .via(index, nil, from: .ip(source))
      kernel.tell(.routing(.ipv4, isRemoval: false))
    }
    kernel.start()
    // usb0 is a tether, which usually costs money.
    use(2, "10.0.0.1")
    #expect(kernel.published.last?.isExpensive == false)
    use(3, "10.1.0.1")
    #expect(kernel.published.last?.interfaceName == "wlan0")
    #expect(kernel.published.last?.isExpensive == false)
    for (ssid, isExpensive) in [("Train", true), ("Home", false), ("Train", true)] {
      kernel.tell(.wireless(index: 3, WirelessLink(mode: .station, ssid: SSID(Array(ssid.utf8)))))
      #expect(kernel.published.last?.isExpensive == isExpensive)
    }
    // The bridge costs money, although its port does not.
    use(4, "10.2.0.1")
    #expect(kernel.published.last?.interfaceName == "br0")
    #expect(kernel.published.last?.isExpensive == true)
    // phone0 is a tether about which the user says nothing.
    use(6, "10.3.0.1")
    #expect(kernel.published.last?.interfaceName == "phone0")
    #expect(kernel.published.last?.isExpensive == true)
  }

  @Test func `a WiFi network may cost money by what its access point or its lease says`() {
    func link(_ metered: MeteredMark?, _ name: String = "Phone") -> NetworkEvent {
      .wireless(index: 2, WirelessLink(mode: .station, ssid: SSID(Array(name.utf8)), metered: metered))
    }
    var configuration = MonitorConfiguration()
    configuration.isExpensive = { _, network in network?.text == "Mine" ? false : nil }
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [
      .loopback, .link(2, "wlan0", device: DeviceTraits(isWireless: true)), link(nil), .address(2, .ip("10.1.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.1.0.2"), from: .ip("10.1.0.1"))
    kernel.start()
    #expect(kernel.published.last?.isExpensive == false)
    kernel.forget()
    for (event, expense) in [
      (link(.networkCost), Expense.beacon), (link(nil), nil), (link(.personalHotspot), .beacon), (link(nil), nil),
      (.lease(index: 2, isMetered: true), .lease), (.lease(index: 2, isMetered: false), nil),
    ] as [(NetworkEvent, Expense?)] {
      kernel.tell(event)
      #expect(kernel.published.last?.expense == expense)
    }
    #expect(kernel.story == Array(repeating: "wifi network_changed wlan0", count: 6))
    // A mark that is already known is no news, and the user's setting counts more than a mark.
    kernel.tell(.lease(index: 2, isMetered: false))
    kernel.tell(link(.networkCost, "Mine"))
    #expect(kernel.published.count == 7)
    #expect(kernel.published.last?.isExpensive == false)
    kernel.tell(.lease(index: 9, isMetered: true))
    #expect(kernel.published.count == 7)
  }

  @Test(
    arguments: [
      (.link(2, "wwan0", device: DeviceTraits(type: "wwan")), .modem),
      (.link(2, "bnep0", device: DeviceTraits(type: "bluetooth")), .bluetooth),
      (.link(2, "usb0", device: DeviceTraits(isTether: true)), .usb), (.link(2, "eth0"), nil),
    ] as [(NetworkEvent, Expense?)])
  func `a path says why its link may cost money`(_ link: NetworkEvent, _ expense: Expense?) {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, link, .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(2, nil, from: .ip("10.0.0.1"))
    kernel.start()
    #expect(kernel.published.last?.expense == expense)
  }

  @Test func `everything that is not cellular is wifi, as AFNetworking has it`() {
    for medium in Medium.allCases {
      #expect(ReachabilityStatus(of: medium) == (medium == .wwan ? .wwan : .wifi))
    }
  }

  @Test func `the words of the stream are fixed`() {
    #expect(Medium.allCases.map(\.rawValue) == ["wifi", "wired", "wwan", "bluetooth", "virtual", "other"])
    #expect(ReachabilityStatus.allCases.map(\.rawValue) == ["unknown", "not-reachable", "wwan", "wifi"])
    #expect(
      ReachabilityReason.allCases.map(\.rawValue) == [
        "initial", "route_up", "no_route", "route_unreachable", "no_carrier", "dormant", "link_down", "no_address",
        "medium_changed", "interface_changed", "address_changed", "network_changed", "vpn_up", "vpn_down",
        "vpn_without_underlay", "resynced", "resumed", "unresolved", "service_lost", "namespace_ended", "rules_changed",
        "signal_changed",
        "roamed",
        "internet_changed", "announcement_changed", "uplink_changed", "cable_changed", "session_ends",
      ])
  }
}
