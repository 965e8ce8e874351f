import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct LinkFactTests {
  /// Returns a link as the wireless extensions announce it: with flags, perhaps with a name, and with nothing else.
  static func partial(_ index: Int32, name: String? = nil, flags: UInt32 = LinkState.up.flags) -> NetworkEvent {
    var fact = LinkUpdate(index: index, flags: flags, hardwareType: 1)
    fact.name = name.map { InterfaceName($0) }
    return .link(fact)
  }

  @Test func `a partial message keeps what it does not say`() throws {
    var kernel = ScriptedKernel()
    let radio = DeviceTraits(type: "wlan", isWireless: true)
    kernel.facts = [
      .loopback, .link(2, "br0", kind: "bridge"), .link(3, "wlan0", kind: "x", master: 2, lower: 9, device: radio),
    ]
    kernel.start()
    let before = try #require(kernel.machine.evaluator.snapshot.interface(3))
    kernel.forget()
    kernel.tell(Self.partial(3, name: "wlan0"))
    kernel.tell(Self.partial(3))
    let after = try #require(kernel.machine.evaluator.snapshot.interface(3))
    #expect(after == before)
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `a whole message without a master or a lower link means none`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "br0", kind: "bridge"), .link(3, "eth0", master: 2, lower: 9)]
    kernel.start()
    kernel.tell(.link(3, "eth0"))
    #expect(kernel.machine.evaluator.snapshot.interface(3)?.masterIndex == nil)
    #expect(kernel.machine.evaluator.snapshot.interface(3)?.lowerIndex == nil)
  }

  @Test func `a partial message about an unknown link makes none`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(Self.partial(8, name: "wlan0"), .address(8, .ip("10.8.0.1")), .linkRemoved(index: 8))
    #expect(kernel.machine.evaluator.snapshot.interfaces.map(\.index) == [1, 2])
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `flags of a partial message count`() {
    var kernel = ScriptedKernel.online()
    kernel.tell(Self.partial(2, flags: Interface.upFlag))
    #expect(kernel.published.last?.status == .notReachable)
  }

  @Test func `a message that changes nothing of interest asks nothing`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.forget()
    // A new MTU or a counter makes the kernel announce the same link again.
    kernel.tell(.link(2, "eth0"))
    var promiscuous = LinkUpdate(2, "eth0")
    promiscuous.flags |= 0x100
    kernel.tell(.link(promiscuous))
    kernel.tell(.address(2, .ip("10.0.0.1")))
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `a turn without facts asks nothing`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.handle(.drained)
    #expect(kernel.outputs.isEmpty)
  }

  @Test func `a change of the list alone is told as such`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(.link(5, "eth5"))
    kernel.tell(.address(5, .ip("10.5.0.1")))
    kernel.tell(.link(5, "eth5", .noCarrier))
    kernel.tell(.noAddress(5, .ip("10.5.0.1")))
    kernel.tell(.linkRemoved(index: 5))
    #expect(kernel.changes == Array(repeating: .interfaces, count: 5))
    #expect(kernel.published.map { $0.interfaces.count } == [3, 3, 3, 3, 2])
    #expect(Set(kernel.published.map(\.verdict)).count == 1)
    #expect(kernel.machine.statistics.transitions == 1)
  }

  @Test func `a change of the path is told once, with the new list`() {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.changes == [.reachability])
    #expect(kernel.published.last?.interfaces.last?.hasCarrier == false)
  }

  @Test func `links are kept in order of their index`() {
    var kernel = ScriptedKernel()
    kernel.facts = [9, 3, 7, 1, 5].map { .link(Int32($0), "l\($0)") }
    kernel.start()
    kernel.tell(.link(6, "l6"), .linkRemoved(index: 5))
    #expect(kernel.machine.evaluator.snapshot.interfaces.map(\.index) == [1, 3, 6, 7, 9])
  }

  // MARK: Links that stand on others

  static func reads(_ kernel: ScriptedKernel) -> Set<Int32> { Set(kernel.readLinks) }

  /// Returns a kernel in which eth0 (2) is a port of br0 (3). br0.5 (4) stands on br0, and a macvlan (5) stands on
  /// br0.5. eth1 (6) has nothing to do with them.
  static func stack() -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0", master: 3), .link(3, "br0", kind: "bridge"),
      .link(4, "br0.5", kind: "vlan", lower: 3),
      .link(5, "mv0", kind: "macvlan", lower: 4), .link(6, "eth1"), .address(5, .ip("10.0.0.1")),
    ]
    kernel.answers[.ipv4] = .via(5, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    kernel.forget()
    return kernel
  }

  @Test func `links that stand on a changed one are read again`() {
    var kernel = Self.stack()
    kernel.tell(.link(2, "eth0", .noCarrier, master: 3))
    #expect(Self.reads(kernel) == [3, 4, 5])
    kernel.forget()
    kernel.tell(.link(4, "br0.5", .noCarrier, kind: "vlan", lower: 3))
    #expect(Self.reads(kernel) == [5])
    kernel.forget()
    kernel.tell(.link(6, "eth1", .noCarrier))
    #expect(Self.reads(kernel).isEmpty)
  }

  @Test func `what is read is part of the verdict of this turn`() {
    var kernel = Self.stack()
    kernel.links[5] = .link(5, "mv0", .noCarrier, kind: "macvlan", lower: 4)
    kernel.tell(.link(2, "eth0", .noCarrier, master: 3))
    #expect(kernel.story == ["not-reachable no_carrier -"])
  }

  @Test func `a bridge is read again when a port leaves it or is deleted`() {
    var kernel = Self.stack()
    kernel.tell(.link(2, "eth0"))
    #expect(Self.reads(kernel).isSuperset(of: [3]))
    kernel = Self.stack()
    kernel.tell(.linkRemoved(index: 2))
    #expect(Self.reads(kernel).isSuperset(of: [3]))
  }

  @Test func `the ends of a veth pair name each other and are not read`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.link(2, "v0", kind: "veth", lower: 3), .link(3, "v1", kind: "veth", lower: 2)]
    kernel.start()
    kernel.forget()
    kernel.tell(.link(2, "v0", .noCarrier, kind: "veth", lower: 3))
    #expect(Self.reads(kernel).isEmpty)
  }

  @Test func `links that stand on each other in a circle do no harm`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.link(2, "a", kind: "vlan", master: 3, lower: 3), .link(3, "b", kind: "vlan", master: 2, lower: 2)]
    kernel.start()
    kernel.forget()
    kernel.tell(.link(2, "a", .noCarrier, kind: "vlan", master: 3, lower: 3))
    #expect(Self.reads(kernel) == [3])
  }
}
