import NetwatchTestSupport
import Testing

@testable import Netwatch

/// Many links and the links that they stand on, in any order of messages.
@Suite struct InterfaceTableTests {
  static func link(_ index: Int32) -> Interface {
    Interface(index: index, kernelName: InterfaceName("l\(index)"), medium: .other, operationalState: .up)
  }

  @Test func `links come, go and are found, as in a plain list`() {
    var random = SplitMix(seed: 16)
    var table = InterfaceTable()
    var known: Set<Int32> = []
    for _ in 0..<20_000 {
      let index = Int32.random(in: 1...400, using: &random)
      // An `if` statement replaces `#expect`, because the macro would take most of this test's time.
      if let position = table.position(of: index) {
        if known.remove(index) == nil { Issue.record("\(index) is in the table alone") }
        table.remove(at: position)
      } else {
        if !known.insert(index).inserted { Issue.record("\(index) is not in the table") }
        table.insert(Self.link(index))
      }
    }
    #expect(table.map(\.index) == known.sorted())
    #expect(table.reversed().map(\.index) == known.sorted().reversed())
    #expect(table.count == known.count)
    for index in Int32(0)...401 { #expect(table.interface(index)?.index == (known.contains(index) ? index : nil)) }
    #expect(table == InterfaceTable(known.sorted().map(Self.link)))
    #expect(table.hashValue == InterfaceTable(known.map(Self.link)).hashValue)
    if let first = known.first { #expect(table != InterfaceTable((known.subtracting([first])).map(Self.link))) }
  }

  @Test func `a copy keeps what it had`() {
    var table = InterfaceTable((1...100).map(Self.link))
    let copy = table
    if let position = table.position(of: 50) { table[position].addresses = [] }
    table.remove(at: table.startIndex)
    #expect(copy.map(\.index) == Array(1...100))
    #expect(table.map(\.index) == Array(2...100))
  }

  /// Returns a random link that stands only on links with lower numbers.
  static func fact(_ index: Int32, _ random: inout SplitMix) -> NetworkEvent {
    let kinds = [nil, nil, "veth", "tun", "wwan", "vlan", "vlan", "bridge", "bridge", "bond", "team"]
    let kind = kinds.randomElement(using: &random) ?? nil
    func lower() -> Int32? { random.oneIn(3) || index == 2 ? nil : .random(in: 2..<index, using: &random) }
    // The ports of a bridge have lower numbers than the bridge.
    let master = random.oneIn(2) || index == 13 ? nil : Int32.random(in: (index + 1)...13, using: &random)
    let below = kind == "vlan" || kind == "veth" ? lower() : nil
    return .link(
      index, "l\(index)", LinkState.allCases.randomElement(using: &random) ?? .up, kind: kind,
      hardwareType: kind == "wwan" ? 65534 : 1, master: master, lower: below,
      activePort: kind == "bond" && random.oneIn(2) ? lower() : nil,
      device: DeviceTraits(isWireless: kind == nil && random.oneIn(2)))
  }

  @Test func `what stands on others has the same medium in any order of telling, and after any change`() {
    var random = SplitMix(seed: 616)
    for _ in 0..<FuzzRounds.count(default: 300) {
      var snapshot = NetworkSnapshot()
      var facts: [Int32: NetworkEvent] = [:]
      for _ in 0..<60 {
        let index = Int32.random(in: 2...13, using: &random)
        if facts[index] != nil, random.oneIn(4) {
          facts[index] = nil
          _ = snapshot.apply(.linkRemoved(index: index))
        } else {
          // A link that is announced again keeps its kind.
          var fact = Self.fact(index, &random)
          if case .link(let old) = facts[index], case .link(var new) = fact {
            new.kind = old.kind
            new.hardwareType = old.hardwareType
            if new.kind != "bond" { new.activePortIndex = nil }
            if new.kind != "vlan", new.kind != "veth" { new.lowerIndex = nil }
            fact = .link(new)
          }
          facts[index] = fact
          _ = snapshot.apply(fact)
        }
        var fresh = NetworkSnapshot()
        for fact in facts.values.shuffled(using: &random) { _ = fresh.apply(fact) }
        let (found, expected) = (Array(snapshot.interfaces), Array(fresh.interfaces))
        var isSame = found.count == expected.count
        for (one, other) in zip(found, expected) where isSame {
          isSame =
            one.index == other.index && one.kernelName == other.kernelName && one.medium == other.medium
            && one.isExpensive == other.isExpensive && one.masterIndex == other.masterIndex
        }
        if !isSame { Issue.record("\(found)\ninstead of \(expected)") }
        for interface in found {
          let ports = found.filter { $0.masterIndex == interface.index }
          let active = ports.filter { $0.index == interface.activePortIndex }
          let expected = (active.isEmpty ? ports : active).contains(where: \.isRunning)
          if snapshot.hasRunningPort(interface.index) != expected { Issue.record("the ports of \(interface)") }
        }
      }
    }
  }

  @Test func `a change of a port reads its own bridge alone, among many bridges`() {
    var kernel = ScriptedKernel.online()
    for bridge in Int32(0)..<300 {
      kernel.tell(.link(100 + bridge, "b\(bridge)", kind: "bridge"))
      for port in 0..<3 { kernel.tell(.link(1000 + bridge * 3 + Int32(port), "p", master: 100 + bridge)) }
    }
    kernel.forget()
    kernel.tell(.link(1000, "p", .noCarrier, master: 100))
    // The port's bridge is read, and the routes are asked for. Nothing is asked about any other link.
    #expect(kernel.readLinks == [100])
    #expect(kernel.lookUps == [.ipv4, .ipv6, .ipv6Last])
  }

  @Test func `a listing reads no link twice`() {
    var kernel = ScriptedKernel(.init())
    kernel.facts = [
      .loopback, .link(2, "eth0", master: 3), .link(3, "br0", kind: "bridge"), .address(3, .ip("10.0.0.1")),
    ]
    kernel.answers[.ipv4] = .via(3, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    #expect(kernel.story == ["wifi initial br0"])
    #expect(kernel.readLinks.isEmpty)
  }
}
