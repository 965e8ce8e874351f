import Foundation
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchStream

/// A path as JSON: the stream's object, and back.
@Suite struct NetworkPathCodableTests {
  private static func paths() -> [NetworkPath] {
    var kernels = [ScriptedKernel.wgQuick(), ScriptedKernel.openVPN(), ScriptedKernel()]
    for place in kernels.indices { kernels[place].start() }
    var wifi = NetworkPath.Verdict(status: .wifi)
    wifi.medium = .wifi
    wifi.interfaceName = InterfaceName("wlan0")
    wifi.interfaceIndex = 3
    wifi.ssid = SSID("Café \u{1b}".utf8)
    wifi.cost = LinkCost(.beacon, isConstrained: true)
    wifi.ipv4 = .init(address: .ip("10.1.0.1"), gateway: nil, interfaceIndex: 3, kernelName: InterfaceName("wlan0"))
    var connection = WiFiConnection()
    connection.signal = WiFiSignal(dBm: -60)
    (connection.frequency, connection.receiveRate, connection.transmitRate) = (2_412, 433_300, 1_000)
    connection.accessPointAddress = 0x0200_0000_0100
    let path = NetworkPath(verdict: wifi, reason: .roamed, interfaces: [], connection: connection)
    var known = path
    known.findings.internet = .portal
    known.findings.portal = PortalURL("http://login.example/")
    known.findings.network = NetworkIdentity("852628548a033a7e")
    known.findings.lost = .init(kernelName: InterfaceName("eth0"), medium: .wired, ssid: nil)
    known.findings.stages = NetworkStages { _ in StageFinding(.notExamined) }
    known.findings.quality = LinkQuality(
      kernelName: InterfaceName("wlan0"), interfaceIndex: 3, connections: 4, tenthsOfMilliseconds: 123,
      tenthsOfPercent: 5)
    return kernels.flatMap(\.published) + [path, known]
  }

  @Test func `a path is the object of its line, and its reason`() throws {
    for path in Self.paths() {
      var writer = JSONLineWriter()
      let record = EventRecord(
        sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .reachability, path: path)
      if path.findings != .init() { continue }
      writer.write(record)
      let line = try #require(JSONSerialization.jsonObject(with: Data(writer.line)) as? [String: Any])
      var expected = try #require(line["reachability"] as? [String: Any])
      expected["reason"] = line["reason"]
      let encoded = try JSONSerialization.jsonObject(with: JSONEncoder().encode(path)) as? [String: Any]
      #expect(encoded.map { NSDictionary(dictionary: $0) } == NSDictionary(dictionary: expected), "\(path)")
    }
  }

  @Test func `a decoded path says the same`() throws {
    let paths = Self.paths()
    #expect(paths.count >= 4)
    for path in paths {
      let decoded = try JSONDecoder().decode(NetworkPath.self, from: JSONEncoder().encode(path))
      #expect(decoded.saysTheSame(as: path) && decoded.reason == path.reason && decoded.wifi == path.wifi, "\(path)")
      #expect("\(decoded)" == "\(path)")
      #expect(decoded.findings == path.findings)
      #expect(try JSONDecoder().decode(NetworkPath.self, from: JSONEncoder().encode(decoded)) == decoded)
    }
  }

  @Test func `a record is its line`() throws {
    for path in Self.paths() {
      var record = EventRecord(
        sequence: 7, nanosecondsSince1970: 1_000_000, monotonicNanoseconds: 5, event: .reachability, path: path)
      record.activity.inFlight = 3
      (record.internet, record.lost, record.stages) = (path.internet, path.lost, path.stages)
      var writer = JSONLineWriter()
      writer.write(record)
      let line = try JSONSerialization.jsonObject(with: Data(writer.line)) as? NSDictionary
      #expect(try JSONSerialization.jsonObject(with: JSONEncoder().encode(record)) as? NSDictionary == line)
      let decoded = try JSONDecoder().decode(EventRecord.self, from: JSONEncoder().encode(record))
      #expect(decoded.path.saysTheSame(as: record.path) && decoded.activity == record.activity)
      #expect((decoded.internet, decoded.lost, decoded.stages) == (record.internet, record.lost, record.stages))
    }
  }

  @Test(arguments: [
    "{}", "[]", #"{"status":"wifi"}"#, #"{"status":"wifi","medium":"wired","interface":"a","index":-1}"#,
  ])
  func `what is no path is refused`(_ text: String) {
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(NetworkPath.self, from: Data(text.utf8)) }
  }
}
