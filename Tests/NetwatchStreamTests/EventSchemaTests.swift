import Foundation
import Netwatch
import Testing

@testable import NetwatchStream

/// The words in contrib/schemas/event.schema.json are those of the code. `contrib/lint schemas` checks lines against
/// the schema.
@Suite struct EventSchemaTests {
  /// A line with everything that version 1 of the format can have.
  static let full = #"""
    {"v":1,"seq":7,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678901,"event":"reachability","reason":"vpn_up","reachability":{"status":"wifi","medium":"wifi","interface":"wlan0","index":3,"expensive":false,"vpn":{"interface":"wg0","kind":"wireguard","carrier":"known"},"ipv4":{"address":"10.0.0.1","gateway":"fe80::1"},"ipv6":{"address":"2001:db8::5","gateway":null},"wifi":{"ssid":"Café","ssid_hex":"436166c3a9","signal_dbm":-52,"signal_percent":96,"frequency_mhz":5180,"band":"5 GHz","rx_mbps":433.3,"tx_mbps":520,"bssid":"02:00:00:00:01:00"},"internet":"portal"},"interfaces":[{"name":"wlan0","index":3,"medium":"wifi","status":"wifi","operational_state":"up","addresses":["10.0.0.1/24","::ffff:10.0.0.1/128"]}],"activity":{"state":"active","visible":true,"in_flight":3,"in_flight_by":{"requests":1,"tcp":2},"programs":[{"name":"curl","tcp":2}]},"quality":{"interface":"wlan0","rtt_ms":23.4,"loss_percent":0.3,"connections":5},"service":{"protocol":1,"version":"0.1.0","namespace":{"device":4,"inode":4026531840},"counts":"all"}}
    """#

  /// Returns the words that the schema lists at a place, such as `$defs medium`.
  private static func words(at place: String) throws -> Set<String> {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../contrib/schemas/event.schema.json")
    var value = try JSONSerialization.jsonObject(with: Data(contentsOf: file.standardizedFileURL))
    for key in place.split(separator: " ").map(String.init) + ["enum"] {
      if let list = value as? [Any] { value = try #require(list.last) }
      value = try #require((value as? [String: Any])?[key], "\(place)")
    }
    return Set(try #require(value as? [String]))
  }

  @Test func `each word of the code stands in the schema, and no other one does`() throws {
    let kinds = ["loss", "gain", "wifi"]
    let reasons = try kinds.reduce(into: Set<String>()) { $0.formUnion(try Self.words(at: "$defs \($1)_reason")) }
    #expect(reasons == Set(ReachabilityReason.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs activity_reason") == Set(EventRecord.ActivityReason.allCases.map(\.rawValue)))
    #expect(try Self.words(at: "properties event") == Set(EventRecord.Event.allCases.map(\.rawValue)))
    #expect(try Self.words(at: "$defs medium") == Set(Medium.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs reachability properties status") == Set(ReachabilityStatus.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs reachability properties wifi properties band anyOf")
        == Set(WiFiConnection.Band.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs reachability properties internet") == Set(InternetAccess.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs interface properties operational_state")
        == Set(OperationalState.allCases.map(\.name.description)))
    #expect(try Self.words(at: "$defs activity properties state") == Set(ActivityState.allCases.map(\.rawValue)))
    #expect(
      try Self.words(at: "$defs service properties counts anyOf")
        == Set((1...7).map { ServiceIdentity.Counts(rawValue: $0).text }))
  }
}
