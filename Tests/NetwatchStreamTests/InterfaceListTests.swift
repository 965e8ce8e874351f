import Foundation
import Netwatch
import NetwatchStream
import Testing

@Suite struct InterfaceListTests {
  /// Returns the links that the machine knows after these events.
  static func interfaces(_ events: [NetworkEvent]) -> InterfaceTable {
    var snapshot = NetworkSnapshot()
    for event in events { _ = snapshot.apply(event) }
    return snapshot.interfaces
  }

  static func link(_ index: Int32, _ name: String, _ flags: UInt32, _ state: OperationalState, kind: String? = nil)
    -> NetworkEvent
  {
    var fact = LinkUpdate(index: index, flags: flags, hardwareType: 1)
    fact.isComplete = true
    fact.name = InterfaceName(name)
    fact.kind = kind
    fact.operationalState = state
    return .link(fact)
  }

  static func address(_ index: Int32, _ text: String, _ prefixLength: UInt8) -> NetworkEvent {
    .address(
      index: index, InterfaceAddress(address: InternetAddress(text) ?? .v6(0), prefixLength: prefixLength, flags: 0x80))
  }

  static func record(_ interfaces: InterfaceTable) -> EventRecord {
    var record = JSONLineTests.record(
      JSONLineTests.path(.notReachable, reason: .interfaceChanged, interfaces: interfaces), .interfaces)
    record.listsInterfaces = true
    return record
  }

  @Test func `every link with its state and addresses`() throws {
    let list = Self.interfaces([
      Self.link(2, "eth0", 0x1_0041, .up), Self.link(3, "wwan0", 0x1_0041, .unknown, kind: "wwan"),
      Self.link(4, "e\"1", 0x1, .lowerLayerDown), Self.address(2, "10.0.0.1", 24), Self.address(2, "2001:db8::1", 64),
      Self.address(4, "10.4.0.1", 8),
    ])
    let line = try JSONLineTests.line(Self.record(list))
    #expect(
      line.contains(
        #"""
        "wifi":null},"interfaces":[{"name":"eth0","index":2,"medium":"wired","status":"wifi","operational_state":"up","addresses":["10.0.0.1/24","2001:db8::1/64"]},{"name":"wwan0","index":3,"medium":"wwan","status":"not-reachable","operational_state":"unknown","addresses":[]},{"name":"e\"1","index":4,"medium":"wired","status":"not-reachable","operational_state":"lower-layer-down","addresses":["10.4.0.1/8"]}],"activity"
        """#))
    let interfaces = try #require(try JSONLineTests.object(line)["interfaces"] as? [[String: Any]])
    #expect(interfaces.count == 3)
  }

  @Test func `an empty list is a list`() throws {
    #expect(try JSONLineTests.line(Self.record([])).contains(#""interfaces":[],"activity""#))
  }

  @Test func `the list stands only where it is asked for`() throws {
    var record = Self.record(Self.interfaces([Self.link(2, "eth0", 0x1_0041, .up)]))
    record.listsInterfaces = false
    #expect(try !JSONLineTests.line(record).contains("interfaces\":["))
  }

  @Test func `operational states have the words of the ip command`() {
    #expect(
      OperationalState.allCases.map(\.name.description) == [
        "unknown", "not-present", "down", "lower-layer-down", "testing", "dormant", "up",
      ])
  }

  @Test func `a thousand links make one line`() throws {
    let events = (1...1_000).map { Self.link(Int32($0), "link\($0)", 0x1_0041, .up) }
    let line = try JSONLineTests.line(Self.record(Self.interfaces(events)))
    let interfaces = try #require(try JSONLineTests.object(line)["interfaces"] as? [[String: Any]])
    #expect(interfaces.count == 1_000)
  }
}
