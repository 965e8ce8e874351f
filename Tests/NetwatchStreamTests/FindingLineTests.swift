import Foundation
import NetwatchStream
import Testing

@testable import Netwatch

/// What a line says of cables, of the end of WiFi and of uplinks is read again as it was written.
@Suite struct FindingLineTests {
  private static func line(_ change: (inout EventRecord) -> Void) -> String {
    var record = EventRecord(
      sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .reachability,
      path: NetworkPath(verdict: .notReachable, reason: .noCarrier, interfaces: InterfaceTable()))
    change(&record)
    var writer = JSONLineWriter()
    writer.write(record)
    return String(decoding: writer.line, as: UTF8.self)
  }

  private static func read(_ line: String) throws -> EventRecord {
    try JSONDecoder().decode(EventRecord.self, from: Data(line.utf8))
  }

  static let cables = [
    CableState(of: InterfaceName("eth0")), CableState(of: InterfaceName("eth0"), absence: .noCable),
    CableState(
      of: InterfaceName("eth0"), megabitsPerSecond: 100, isFullDuplex: false,
      modes: ["100baseT/Full", "1000baseT/Full"],
      peerModes: ["1000baseT/Full"]),
  ]

  @Test(arguments: cables) func `a cable`(_ cable: CableState) throws {
    let line = Self.line { ($0.cable, $0.tellsCable) = (cable, true) }
    let record = try Self.read(line)
    #expect(record.cable == cable, "\(line)")
    #expect(record.tellsCable)
  }

  @Test func `no cable, and none that was asked about`() throws {
    let record = try Self.read(Self.line { $0.tellsCable = true })
    #expect(record.cable == nil)
    #expect(record.tellsCable)
    let line = Self.line { _ in }
    #expect(try !Self.read(line).tellsCable)
    for key in ["link", "wifi_end", "uplinks"] { #expect(!line.contains("\"\(key)\"")) }
  }

  static let endings: [WiFiEnding.Kind] = [
    .endedByAccessPoint(reason: 5), .endedByAccessPoint(reason: 0), .endedByThisMachine(reason: 3), .lost, .unanswered,
    .refused(status: 17), .refused(status: 65_535),
  ]

  @Test(arguments: endings) func `an end of WiFi`(_ kind: WiFiEnding.Kind) throws {
    let line = Self.line { $0.wifiEnding = WiFiEnding(kind) }
    #expect(try Self.read(line).wifiEnding == WiFiEnding(kind), "\(line)")
  }

  @Test func `an end of a kind that only a later version knows is left out`() throws {
    let line = Self.line { $0.wifiEnding = WiFiEnding(.lost) }.replacingOccurrences(of: "\"lost\"", with: "\"burnt\"")
    #expect(try Self.read(line).wifiEnding == nil)
  }

  @Test func `uplinks, with their stages`() throws {
    var stages = NetworkStages()
    stages.link = StageFinding(.running)
    stages.gateway = StageFinding(.neighbourFailed, .v4(0x0a00_0002))
    stages.internet = StageFinding(InternetAccess.absent)
    let uplinks = [true, false].map { isInUse in
      Uplink(
        interfaceIndex: isInUse ? 2 : 3, kernelName: InterfaceName(isInUse ? "eth0" : "wwan0"),
        medium: isInUse ? .wired : .wwan, isInUse: isInUse, stages: isInUse ? NetworkStages() : stages)
    }
    let line = Self.line { $0.uplinks = uplinks }
    let record = try Self.read(line)
    #expect(record.uplinks == uplinks, "\(line)")
    #expect(record.uplinks?.map(\.works) == [true, false])
    #expect(stages.internet.evidence == StageFinding.Evidence.none)
    #expect(try Self.read(Self.line { $0.uplinks = [] }).uplinks == [])
  }

  @Test func `a path has the same in its own JSON`() throws {
    var path = NetworkPath(verdict: .notReachable, reason: .noCarrier, interfaces: InterfaceTable())
    path.findings.cable = Self.cables[1]
    path.findings.wifiEnding = WiFiEnding(.lost)
    path.findings.uplinks = []
    let read = try JSONDecoder().decode(NetworkPath.self, from: JSONEncoder().encode(path))
    #expect(read.cable == path.cable)
    #expect(read.wifiEnding == path.wifiEnding)
    #expect(read.uplinks == [])
  }
}
