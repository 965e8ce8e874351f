import EventSchema
import Foundation
import Netwatch
import NetwatchStream
import Testing

/// The schema in contrib is as strict as it should be, and the validator sees what it says.
@Suite struct EventSchemaTests {
  /// A line with everything that version 1 can have.
  static let full = #"""
    {"v":1,"seq":7,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678901,"event":"reachability","reason":"vpn_up","reachability":{"status":"wifi","medium":"wifi","interface":"wlan0","index":3,"expensive":false,"vpn":{"interface":"wg0","kind":"wireguard","carrier":"known"},"ipv4":{"address":"10.0.0.1","gateway":"fe80::1"},"ipv6":{"address":"2001:db8::5","gateway":null},"wifi":{"ssid":"Café","ssid_hex":"436166c3a9","signal_dbm":-52,"signal_percent":96},"internet":"portal"},"interfaces":[{"name":"wlan0","index":3,"medium":"wifi","status":"wifi","operational_state":"up","addresses":["10.0.0.1/24","::ffff:10.0.0.1/128"]}],"activity":{"state":"active","visible":true,"in_flight":3,"in_flight_by":{"requests":1,"tcp":2},"programs":[{"name":"curl","tcp":2}]},"service":{"protocol":1,"version":"0.1.0","namespace":{"device":4,"inode":4026531840},"counts":"all"}}
    """#
  static let offline = #"""
    {"v":1,"seq":8,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678902,"event":"reachability","reason":"no_carrier","reachability":{"status":"not-reachable","medium":null,"interface":null,"index":null,"expensive":null,"vpn":null,"ipv4":null,"ipv6":null,"wifi":null},"activity":{"state":"inactive","visible":false,"in_flight":0}}
    """#

  /// The problems of a line in which one place is changed.
  private func problems(_ line: String, _ old: String, _ new: String) throws -> [String] {
    let place = try #require(line.range(of: old), "\(old)")
    return EventLine.problems(line.replacingCharacters(in: place, with: new))
  }

  // MARK: Accepted

  @Test(arguments: [full, offline, full + "\n"])
  func `a right line`(line: String) {
    #expect(EventLine.problems(line) == [])
  }

  @Test(arguments: [#""mono_ns""#, #""medium""#, #""state""#, #""gateway""#, #""ssid""#, #""operational_state""#])
  func `unknown keys`(place: String) throws {
    #expect(try problems(Self.full, place, #""colour":{"deep":[null]},"# + place) == [])
  }

  @Test(arguments: [
    (#""ipv4":{"address":"10.0.0.1","gateway":"fe80::1"}"#, #""ipv4":null"#),
    (#""ipv6":{"address":"2001:db8::5","gateway":null}"#, #""ipv6":null"#), (#","internet":"portal""#, ""),
    (#","in_flight_by":{"requests":1,"tcp":2}"#, ""), (#","programs":[{"name":"curl","tcp":2}]"#, ""),
    (#","counts":"all""#, #","counts":null"#), (#""version":"0.1.0""#, #""version":null"#),
    (#"{"device":4,"inode":4026531840}"#, "null"),
    (#""seq":7"#, #""seq":18446744073709551615"#),
    (#""seq":7"#, #""seq":7.0"#), (#""interface":"wlan0""#, #""interface":"""#), (#"-52"#, "null"),
  ])
  func `what may be so or so`(old: String, new: String) throws {
    #expect(try problems(Self.full, old, new) == [])
  }

  @Test func `every word of the code`() {
    func fits(_ line: String, _ event: String, _ reason: String) -> Bool {
      let event = line.replacing(#""event":"reachability""#, with: #""event":"\#(event)""#)
      return EventLine.problems(event.replacing(/"reason":"[a-z_]+"/, with: #""reason":"\#(reason)""#)) == []
    }
    for reason in ReachabilityReason.allCases {
      let found = ["initial", "reachability"].contains { event in
        [Self.full, Self.offline].contains { fits($0, event, reason.rawValue) }
      }
      #expect(found, "\(reason)")
    }
    for reason in EventRecord.ActivityReason.allCases { #expect(fits(Self.full, "activity", reason.rawValue)) }
    #expect(fits(Self.full, "interfaces", "interface_changed"))
    for medium in Medium.allCases {
      let line = Self.full.replacing(#""medium":"wifi""#, with: #""medium":"\#(medium.rawValue)""#)
      let status = medium == .wwan ? "wwan" : "wifi"
      #expect(EventLine.problems(line.replacing(#""status":"wifi""#, with: #""status":"\#(status)""#)) == [])
    }
    for state in ActivityState.allCases {
      let activity = #""activity":{"state":"\#(state.rawValue)","visible":\#(state.isVisible),"in_flight":0}"#
      #expect(EventLine.problems(Self.full.replacing(/"activity":.*}}/, with: activity + "}")) == [])
    }
  }

  @Test func `every finding of a probe`() throws {
    for access in InternetAccess.allCases {
      #expect(try problems(Self.full, #""internet":"portal""#, "\"internet\":\"\(access.rawValue)\"") == [])
    }
    for access in [InternetAccess.absent, .unknown] {
      #expect(try problems(Self.offline, #""wifi":null"#, "\"wifi\":null,\"internet\":\"\(access.rawValue)\"") == [])
    }
  }

  // MARK: Rejected

  /// The full line, each with another key of it, at any depth, removed or with another value.
  private static func changed(_ newValue: Any?) throws -> [(line: String, key: String)] {
    func change(_ value: Any) -> [(value: Any, key: String)] {
      if let array = value as? [Any], let first = array.first { return change(first).map { ([$0.value], $0.key) } }
      guard let object = value as? [String: Any] else { return [] }
      return object.flatMap { key, member in
        var other = object
        other[key] = newValue
        return [(other, key)] + change(member).map { (object.merging([key: $0.value]) { _, new in new }, $0.key) }
      }
    }
    return try change(JSONLineTests.object(full)).map {
      (String(decoding: try JSONSerialization.data(withJSONObject: $0.value), as: UTF8.self), $0.key)
    }
  }

  @Test func `a line without one of its keys`() throws {
    let optional: Set = ["internet", "interfaces", "in_flight_by", "programs", "service"]
    let lines = try Self.changed(nil).filter { !optional.contains($0.key) }
    #expect(lines.count == 47)
    for (line, key) in lines {
      #expect(EventLine.problems(line).contains { $0.hasSuffix(".\(key) is missing") }, "\(key)")
    }
  }

  @Test func `a value of a type that no key has`() throws {
    let lines = try Self.changed(0.5)
    #expect(lines.count == 52)
    for (line, key) in lines {
      #expect(EventLine.problems(line).contains { $0.contains(".\(key) is 0.5, ") }, "\(key)")
    }
  }

  @Test(arguments: [
    (#""v":1"#, #""v":2"#), (#""v":1"#, #""v":true"#), (#""v":1"#, #""v":"1""#), (#""seq":7"#, #""seq":0"#),
    (#""seq":7"#, #""seq":true"#), (#""seq":7"#, #""seq":7.5"#), (#""seq":7"#, #""seq":"7""#),
    (#""mono_ns":812345678901"#, #""mono_ns":-1"#), (#""event":"reachability""#, #""event":"reachable""#),
    (#""reason":"vpn_up""#, #""reason":null"#), (#""expensive":false"#, #""expensive":0"#),
    (#""index":3"#, #""index":0"#), (#""visible":true"#, #""visible":1"#),
    (#""in_flight":3"#, #""in_flight":-1"#), (#""in_flight":3"#, #""in_flight":false"#),
    (#""tcp":2"#, #""tcp":null"#), (#"{"interface":"wg0","kind":"wireguard","carrier":"known"}"#, #""wg0""#),
    (#"436166c3a9"#, "436166C3A9"), (#"436166c3a9"#, "436"), ("96", "101"), ("96", "-1"),
    (#""internet":"portal""#, #""internet":null"#), (#""addresses":["#, #""addresses":[null,"#),
    (#""10.0.0.1/24""#, #""10.0.0.1""#), (#""10.0.0.1/24""#, #""10.0.0.1/33""#), (#"/128""#, #"/129""#),
    (#""address":"10.0.0.1""#, #""address":"10.0.0.256""#), (#""address":"10.0.0.1""#, #""address":"fe80::1""#),
    (#""address":"2001:db8::5""#, #""address":"2001:DB8::5""#), (#"[{"name""#, #"[null,{"name""#),
    (#""operational_state":"up""#, #""operational_state":"UP""#), (#""status":"wifi""#, #""status":"offline""#),
    (#""status":"wifi","op"#, #""status":"unknown","op"#), (#""status":"wifi","op"#, #""status":"wwan","op"#),
    (#""medium":"wifi","status""#, #""medium":null,"status""#), (#""index":3,"medium""#, #""index":0,"medium""#),
    (#""requests":1"#, #""requests":-1"#), (#""tcp":2"#, #""tcp":-2"#), (#""gateway":"fe80::1""#, #""gateway":"x""#),
    (#""gateway":null"#, #""gateway":"10.0.0.1""#), (#""state":"active""#, #""state":"asleep""#),
  ])
  func `a value of the wrong kind`(old: String, new: String) throws {
    #expect(try problems(Self.full, old, new).first?.hasPrefix("$.") == true)
  }

  @Test(arguments: [
    "2026-11-21T02:15:00.12345Z", "2026-11-21T02:15:00.1234567Z", "2026-11-21T02:15:00Z", "2026-11-21T02:15:00.123456",
    "2026-11-21T02:15:00.123456+00:00", "2026-11-21 02:15:00.123456Z", "2026-13-21T02:15:00.123456Z",
    "2026-11-21T24:15:00.123456Z", "x2026-11-21T02:15:00.123456Z", #"2026-11-21T02:15:00.123456Z\n"#, "",
  ])
  func `a bad time`(time: String) throws {
    let problems = try problems(Self.full, "2026-11-21T02:15:00.123456Z", time)
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("$.time is ") == true)
  }

  @Test(arguments: [
    (#""medium":"wifi""#, #""medium":null"#), (#""interface":"wlan0""#, #""interface":null"#),
    (#""index":3"#, #""index":null"#), (#""expensive":false"#, #""expensive":null"#),
    (
      #""ipv4":{"address":"10.0.0.1","gateway":"fe80::1"},"ipv6":{"address":"2001:db8::5","gateway":null}"#,
      #""ipv4":null,"ipv6":null"#
    ),
    (#""medium":"wifi""#, #""medium":"wwan""#), (#""status":"wifi""#, #""status":"wwan""#),
  ])
  func `reachable over nothing, or over something else`(old: String, new: String) throws {
    #expect(try problems(Self.full, old, new).first?.hasPrefix("$.") == true)
  }

  @Test(arguments: [
    (#""medium":null"#, #""medium":"wired""#), (#""interface":null"#, #""interface":"eth0""#),
    (#""index":null"#, #""index":2"#), (#""expensive":null"#, #""expensive":false"#),
    (#""vpn":null"#, #""vpn":{"interface":"wg0","kind":"wireguard","carrier":"known"}"#),
    (#""ipv4":null"#, #""ipv4":{"address":"10.0.0.1","gateway":null}"#),
    (#""ipv6":null"#, #""ipv6":{"address":"2001:db8::5","gateway":null}"#),
    (#""wifi":null"#, #""wifi":null,"internet":"full""#), (#""wifi":null"#, #""wifi":null,"internet":"portal""#),
    (#""wifi":null"#, #""wifi":{"ssid":"x","ssid_hex":"78","signal_dbm":-52,"signal_percent":96}"#),
  ])
  func `not reachable, but over something`(old: String, new: String) throws {
    for status in ["not-reachable", "unknown"] {
      let line = Self.offline.replacing("not-reachable", with: status)
      #expect(EventLine.problems(line) == [] || status == "unknown")
      #expect(try problems(line, old, new).count == 1)
    }
  }

  @Test func `a tunnel of unknown carrier may be all cellular, over the medium "other"`() throws {
    let unknown = Self.full.replacing(#""carrier":"known""#, with: #""carrier":"unknown""#)
      .replacing(#""medium":"wifi","interface":"wlan0""#, with: #""medium":"other","interface":"wg0""#)
    #expect(EventLine.problems(unknown) == [])
    let cellular = unknown.replacing(#""status":"wifi","medium":"other""#, with: #""status":"wwan","medium":"other""#)
    #expect(EventLine.problems(cellular) == [])
    #expect(EventLine.problems(cellular.replacing(#""carrier":"unknown""#, with: #""carrier":"known""#)).count == 1)
    #expect(EventLine.problems(Self.full.replacing(#""carrier":"known""#, with: #""carrier":"perhaps""#)).count == 1)
  }

  @Test(arguments: [("active", false), ("delaying-end", false), ("inactive", true), ("delaying-start", true)])
  func `a state that does not look so`(state: String, visible: Bool) throws {
    let activity = #""state":"\#(state)","visible":\#(visible)"#
    #expect(try problems(Self.full, #""state":"active","visible":true"#, activity).count == 1)
  }

  struct Misfit: CustomTestStringConvertible, Sendable {
    var testDescription: String { "\(event) \(reason)" }
    let isReachable: Bool
    let event: String
    let reason: String
  }

  @Test(arguments: [
    Misfit(isReachable: true, event: "reachability", reason: "lunch"),
    Misfit(isReachable: false, event: "reachability", reason: "lunch"),
    Misfit(isReachable: true, event: "activity", reason: "lunch"),
    Misfit(isReachable: true, event: "initial", reason: "route_up"),
    Misfit(isReachable: false, event: "initial", reason: "initial"),
    Misfit(isReachable: false, event: "initial", reason: "service_lost"),
    Misfit(isReachable: true, event: "reachability", reason: "initial"),
    Misfit(isReachable: true, event: "reachability", reason: "no_route"),
    Misfit(isReachable: false, event: "reachability", reason: "route_up"),
    Misfit(isReachable: true, event: "reachability", reason: "request_began"),
    Misfit(isReachable: true, event: "activity", reason: "route_up"),
    Misfit(isReachable: true, event: "interfaces", reason: "route_up"),
  ])
  func `a reason that is unknown, or not of this event`(_ misfit: Misfit) throws {
    let line = misfit.isReachable ? Self.full : Self.offline
    let words = #""event":"\#(misfit.event)","reason":"\#(misfit.reason)""#
    let old = #""event":"reachability","reason":"\#(misfit.isReachable ? "vpn_up" : "no_carrier")""#
    let problems = try problems(line, old, words)
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("$.reason is ") == true)
  }

  @Test(arguments: ["", "{", "[]", "null", "1", full + "}", full + "\n\n", full + "\n" + full])
  func `no line at all`(line: String) {
    #expect(EventLine.problems(line).count == 1)
  }
}
