import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct AddressRuleTests {
  @Test(arguments: [
    (UInt32(0x80), true), (InterfaceAddress.deprecatedFlag, true), (InterfaceAddress.tentativeFlag, false),
    (InterfaceAddress.duplicateFlag, false),
    (InterfaceAddress.tentativeFlag | InterfaceAddress.optimisticFlag, true),
    (InterfaceAddress.duplicateFlag | InterfaceAddress.optimisticFlag, false),
    (InterfaceAddress.tentativeFlag | InterfaceAddress.deprecatedFlag, false), (InterfaceAddress.optimisticFlag, true),
    (InterfaceAddress.duplicateFlag | InterfaceAddress.tentativeFlag | InterfaceAddress.optimisticFlag, false),
  ])
  func `flags decide whether an address is usable`(_ flags: UInt32, _ isUsable: Bool) {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("2001:db8:1::1"), 64, flags: flags)]
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.start()
    #expect(kernel.story == [isUsable ? "wifi initial eth0" : "not-reachable no_address -"])
  }

  @Test(arguments: [
    ("10.0.0.1", true), ("169.254.7.7", false), ("127.0.0.1", false), ("224.0.0.1", false), ("0.0.0.0", false),
    ("2001:db8::5", true), ("fd00::1", true), ("fe80::1", false), ("febf::1", false), ("fec0::1", true),
    ("ff02::1", false), ("::1", false), ("::", false),
  ])
  func `scopes decide whether an address is usable`(_ text: String, _ isUsable: Bool) {
    #expect(InternetAddress.ip(text).isUsableSource(allowingLinkLocalIPv4: false) == isUsable)
    #expect(
      InternetAddress.ip(text).isUsableSource(allowingLinkLocalIPv4: true) == (isUsable || text.hasPrefix("169.254")))
  }

  @Test(arguments: [true, false])
  func `169.254 counts where it is allowed`(_ isAllowed: Bool) {
    var configuration = MonitorConfiguration()
    configuration.allowsLinkLocalIPv4 = isAllowed
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("169.254.7.7"), 16)]
    kernel.answers[.ipv4] = .via(2, nil, from: .ip("169.254.7.7"))
    kernel.start()
    #expect(kernel.published.map(\.status) == [isAllowed ? .wifi : .notReachable])
    #expect(kernel.published.map { $0.availableInterfaces.map(\.name) } == [isAllowed ? ["eth0"] : []])
  }

  @Test(arguments: ["fe80::5", "::1"])
  func `a source that leads nowhere is no address`(_ source: String) {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .address(1, .ip("::1"), 128), .link(2, "eth0"), .address(2, .ip("fe80::5"), 64),
      .address(2, .ip("2001:db8:1::1"), 64, flags: InterfaceAddress.tentativeFlag),
    ]
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip(source))
    kernel.start()
    #expect(kernel.story == ["not-reachable no_address -"])
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.tell(.address(2, .ip("2001:db8:1::1"), 64))
    #expect(kernel.story.last == "wifi route_up eth0")
  }

  @Test func `a source on another link is fine`() {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "dummy0", .down, kind: "dummy"), .address(3, .ip("203.0.113.5"), 32),
    ]
    kernel.answers[.ipv4] = .via(2, nil, from: .ip("203.0.113.5"))
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0"])
  }

  @Test func `the source that the kernel names decides, not another address of the link`() {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0"), .address(2, .ip("169.254.7.7"), 16), .address(2, .ip("10.0.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("169.254.0.1"), from: .ip("169.254.7.7"))
    kernel.answers[RouteRequest(.ipv4, .allHops)] = .via(2, .ip("169.254.0.1"), from: nil)
    kernel.start()
    #expect(kernel.story == ["not-reachable no_address -"])
  }

  @Test func `deprecated comes and goes without a word`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.forget()
    for _ in 0..<10 {
      kernel.tell(.address(2, .ip("2001:db8:1::1"), 64, flags: 0x80 | InterfaceAddress.deprecatedFlag))
      kernel.tell(.address(2, .ip("2001:db8:1::1"), 64))
    }
    #expect(kernel.published.isEmpty)
    // The kernel is asked each time because it may choose another source.
    #expect(kernel.lookUps == Array(repeating: .ipv6, count: 20))
  }

  @Test func `when the source is deprecated, the one that the kernel takes instead is published`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.tell(.address(2, .ip("2001:db8:1::2"), 64))
    kernel.forget()
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::2"))
    kernel.tell(.address(2, .ip("2001:db8:1::1"), 64, flags: 0x80 | InterfaceAddress.deprecatedFlag))
    #expect(kernel.story == ["wifi address_changed eth0"])
    #expect(kernel.published.last?.ipv6?.address == .ip("2001:db8:1::2"))
  }

  @Test func `lifetimes that begin to run publish nothing`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(.address(2, .ip("10.0.0.1"), flags: 0))
    #expect(kernel.published.isEmpty)
  }

  @Test func `without a named source the best address of the link is taken, a deprecated one last`() {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0", .noCarrier), .link(3, "eth1"), .address(3, .ip("fe80::3"), 64),
      .address(3, .ip("2001:db8:1::d"), 64, flags: InterfaceAddress.deprecatedFlag), .address(3, .ip("10.1.0.1")),
      .address(3, .ip("2001:db8:1::1"), 64), .address(3, .ip("2001:db8:1::2"), 64),
    ]
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.answers[RouteRequest(.ipv6, .allHops)] = .hops([
      RouteHop(interfaceIndex: 2, gateway: .ip("fe80::1")), RouteHop(interfaceIndex: 3, gateway: .ip("fe80::2")),
    ])
    kernel.start()
    #expect(kernel.published.map(\.ipv6?.address) == [.ip("2001:db8:1::1")])
    kernel.tell(.noAddress(3, .ip("2001:db8:1::1"), 64), .noAddress(3, .ip("2001:db8:1::2"), 64))
    #expect(kernel.published.last?.ipv6?.address == .ip("2001:db8:1::d"))
  }
}
