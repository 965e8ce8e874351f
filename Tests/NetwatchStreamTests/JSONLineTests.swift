import Foundation
import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@Suite struct JSONLineTests {
  static func path(
    _ status: ReachabilityStatus = .wifi, name: String? = "eth0", reason: ReachabilityReason = .routeUp,
    interfaces: InterfaceTable = []
  ) -> NetworkPath {
    var verdict = NetworkPath.Verdict(status: status)
    if verdict.isReachable {
      verdict.medium = .wired
      verdict.interfaceName = name.map { InterfaceName($0) }
      verdict.interfaceIndex = 2
      verdict.ipv4 = .init(address: .v4(0x0a00_0001), gateway: .v4(0x0a00_00fe), interfaceIndex: 2)
    }
    return NetworkPath(verdict: verdict, reason: reason, interfaces: interfaces)
  }

  static func record(_ path: NetworkPath, _ event: EventRecord.Event = .reachability) -> EventRecord {
    EventRecord(
      sequence: 7, nanosecondsSince1970: 1_795_227_300_123_456_000, monotonicNanoseconds: 812_345_678_901,
      event: event, path: path)
  }

  static func line(_ record: EventRecord) throws -> String {
    var writer = JSONLineWriter()
    writer.write(record)
    let line = String(decoding: writer.line, as: UTF8.self)
    #expect(line.hasSuffix("}\n"))
    #expect(line.utf8.count { $0 == UInt8(ascii: "\n") } == 1)
    keepLine(line, of: "event")
    return line
  }

  static func object(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  @Test func `not reachable`() throws {
    #expect(
      try Self.line(Self.record(Self.path(.notReachable, reason: .noCarrier))) == #"""
        {"v":1,"seq":7,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678901,"event":"reachability","reason":"no_carrier","reachability":{"status":"not-reachable","medium":null,"interface":null,"index":null,"expensive":null,"vpn":null,"ipv4":null,"ipv6":null,"wifi":null},"sentence":"Offline: the link of the route has no carrier.","activity":{"state":"inactive","visible":false,"in_flight":0}}

        """#)
  }

  @Test func `reachable over both families`() throws {
    var verdict = Self.path().verdict
    verdict.ipv6 = .init(address: InternetAddress("2001:db8::5") ?? .v6(0), gateway: nil, interfaceIndex: 2)
    verdict.cost = LinkCost(.usb, isConstrained: true)
    let path = NetworkPath(verdict: verdict, reason: .initial, interfaces: [])
    #expect(
      try Self.line(Self.record(path, .initial)) == #"""
        {"v":1,"seq":7,"time":"2026-11-21T02:15:00.123456Z","mono_ns":812345678901,"event":"initial","reason":"initial","reachability":{"status":"wifi","medium":"wired","interface":"eth0","index":2,"expensive":true,"expensive_because":"usb","constrained":true,"vpn":null,"ipv4":{"address":"10.0.0.1","gateway":"10.0.0.254"},"ipv6":{"address":"2001:db8::5","gateway":null},"wifi":null},"sentence":"Online over eth0, a wired interface. It may cost money. It is to be used sparingly.","activity":{"state":"inactive","visible":false,"in_flight":0}}

        """#)
  }

  @Test func `unknown claims nothing`() throws {
    let line = try Self.line(Self.record(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: [])))
    #expect(line.contains(#""reason":"unresolved","reachability":{"status":"unknown","medium":null,"#))
    #expect(line.contains(#""expensive":null"#))
  }

  @Test func `activity`() throws {
    var record = Self.record(Self.path(), .activity)
    record.activity.state = .active
    record.activity.inFlight = 12
    #expect(try Self.line(record).contains(#""activity":{"state":"active","visible":true,"in_flight":12}}"#))
    record.activity.inFlight = -1
    #expect(try Self.line(record).contains(#""in_flight":0}}"#))
  }

  @Test func `connections are told apart where they are counted, programs where they are asked for`() throws {
    var record = Self.record(Self.path(), .activity)
    record.activity.inFlight = 5
    record.activity.connections = 3
    #expect(try Self.line(record).contains(#""in_flight":5,"in_flight_by":{"requests":2,"tcp":3}}}"#))
    var estimated = record
    estimated.activity.datagrams = 1
    #expect(try Self.line(estimated).contains(#""in_flight":5,"in_flight_by":{"requests":1,"tcp":3,"udp":1}}}"#))
    estimated.activity.connections = nil
    #expect(try Self.line(estimated).contains(#""in_flight":5,"in_flight_by":{"requests":4,"udp":1}}}"#))
    (estimated.activity.connections, estimated.activity.inFlight) = (.max, .min)
    #expect(try Self.line(estimated).contains(#""requests":0,"#))
    var writer = JSONLineWriter()
    func named(_ programs: [NamedCount]) -> String {
      writer.write(record, programs: programs)
      return String(decoding: writer.line, as: UTF8.self)
    }
    let line = named([.init(name: "curl", count: 2), .init(name: "a\"\u{1b}[2J", count: 1)])
    keepLine(line, of: "event")
    let programs = #""programs":[{"name":"curl","tcp":2},{"name":"a\"\u001b[2J","tcp":1}]}}"#
    #expect(line.contains(#""in_flight_by":{"requests":2,"tcp":3},"# + programs))
    #expect(named([]).contains(#""tcp":3},"programs":[]}}"#))
    // If connections are not counted, no program has any.
    record.activity.connections = nil
    #expect(named([.init(name: "curl", count: 2)]).contains(#""in_flight":5}}"#))
  }

  @Test(arguments: [
    (#"a"b"#, #""a\"b""#), (#"a\b"#, #""a\\b""#), ("a\nb", #""a\u000ab""#), ("\u{1}\u{1f}", #""\u0001\u001f""#),
    ("\u{7f}", #""\u007f""#), ("\u{80}\u{9f}", #""\u0080\u009f""#), ("\u{a0}", "\"\u{a0}\""), ("w😀é", #""w😀é""#),
    ("\u{2028}", #""\u2028""#), ("\u{fffd}", "\"\u{fffd}\""), ("", #""""#), ("</script>", #""</script>""#),
  ])
  func `names of a stranger's making`(_ name: String, _ json: String) throws {
    let line = try Self.line(Self.record(Self.path(name: name)))
    #expect(line.contains(#""interface":"# + json + #","index""#))
    let reachability = try #require(try Self.object(line)["reachability"] as? [String: Any])
    #expect((reachability["interface"] as? String).map { Array($0.utf8) } == Array(name.utf8))
  }

  @Test func `every scalar below U+0300 survives, and no control character is written`() throws {
    // A zero byte would end a name.
    for value in (1..<0x300).compactMap(Unicode.Scalar.init) {
      let name = "x\(Character(value))y"
      let line = try Self.line(Self.record(Self.path(name: name)))
      let reachability = try #require(try Self.object(line)["reachability"] as? [String: Any])
      #expect((reachability["interface"] as? String).map { Array($0.utf8) } == Array(name.utf8))
      let written = line.dropLast().unicodeScalars
      #expect(!written.contains { $0.value < 0x20 || (0x7f..<0xa0).contains($0.value) })
    }
  }

  @Test(arguments: [
    "\u{61c}", "\u{200e}", "\u{200f}", "\u{202a}", "\u{202e}", "\u{2066}", "\u{2069}", "\u{2028}", "\u{2029}",
    "\u{feff}", "\u{e000}",
    "\u{e0041}", "\u{10fffd}",
  ])
  func `what turns the direction or cannot be shown is written as its number, and nothing is lost`(text: String) throws
  {
    let line = try Self.line(Self.record(Self.path(name: "x\(text)y")))
    #expect(line.utf8.allSatisfy { 0x20..<0x7f ~= $0 || $0 == 0x0a })
    let reachability = try #require(try Self.object(line)["reachability"] as? [String: Any])
    #expect((reachability["interface"] as? String).map { Array($0.utf8) } == Array("x\(text)y".utf8))
  }

  @Test(arguments: ["نا\u{200c}ها", "👩\u{200d}👧"])
  func `letters and pictures are written as they are`(name: String) throws {
    #expect(try Self.line(Self.record(Self.path(name: name))).contains(name))
  }

  @Test func `numbers at their ends`() throws {
    var record = Self.record(Self.path())
    record.sequence = .max
    record.monotonicNanoseconds = -5_000_000_000
    #expect(try Self.line(record).hasPrefix(#"{"v":1,"seq":18446744073709551615,"#))
    #expect(try Self.line(record).contains(#""mono_ns":0,"#))
  }

  @Test(arguments: [
    (Int64(1_999_999_999), "1970-01-01T00:00:01.999999Z"), (999, "1970-01-01T00:00:00.000000Z"),
    (-1_000_000_000, "1970-01-01T00:00:00.000000Z"), (1_795_227_300_123_456_789, "2026-11-21T02:15:00.123456Z"),
  ])
  func `microseconds are cut, not rounded, and a clock before 1970 is at 1970`(nanoseconds: Int64, text: String) throws
  {
    var record = Self.record(Self.path())
    record.nanosecondsSince1970 = nanoseconds
    #expect(try Self.line(record).contains(#""time":"\#(text)","#))
  }

  @Test func `a writer tells the time anew in each second`() throws {
    var writer = JSONLineWriter()
    var record = Self.record(Self.path())
    for (second, text) in [(Int64(59), "00:00:59.000000Z"), (59, "00:00:59.000000Z"), (60, "00:01:00.000000Z")] {
      record.nanosecondsSince1970 = second * 1_000_000_000
      writer.write(record)
      #expect(String(decoding: writer.line, as: UTF8.self).contains(text))
    }
  }

  @Test func `a writer forgets the line before`() throws {
    var writer = JSONLineWriter()
    let links = (1...300).map { InterfaceListTests.link($0, "link\($0)", 0x1, .down) }
    writer.write(InterfaceListTests.record(InterfaceListTests.interfaces(links)))
    #expect(writer.line.count > 8_000)
    writer.write(Self.record(Self.path()))
    #expect(String(decoding: writer.line, as: UTF8.self) == (try Self.line(Self.record(Self.path()))))
  }

  @Test(arguments: [true, false])
  func `whether it is known what carries a tunnel is said, and read again`(isKnown: Bool) throws {
    var verdict = NetworkPath.Verdict(status: .wifi)
    verdict.medium = isKnown ? .wired : .other
    verdict.interfaceName = isKnown ? "eth0" : "tun0"
    verdict.interfaceIndex = 2
    verdict.vpn = VPN(kernelName: "tun0", interfaceIndex: 7, kind: .tun, isCarrierKnown: isKnown, families: [.ipv4])
    verdict.ipv4 = .init(address: .ip("10.8.0.2"), gateway: nil, interfaceIndex: 7)
    let line = try Self.line(Self.record(NetworkPath(verdict: verdict, reason: .vpnUp, interfaces: [])))
    let carrier = isKnown ? "known" : "unknown"
    #expect(line.contains(#""vpn":{"interface":"tun0","kind":"tun","carrier":"\#(carrier)","families":["ipv4"]}"#))
    let read = try #require(EventRecord(line: Array(line.utf8)[...]))
    #expect(read.path.vpn?.isCarrierKnown == isKnown)
    // An older service does not send this key.
    let old = line.replacing(#","carrier":"\#(carrier)""#, with: "")
    #expect(EventRecord(line: Array(old.utf8)[...])?.path.vpn?.isCarrierKnown == true)
  }

  @Test func `keys stand in their fixed order`() throws {
    let line = try Self.line(Self.record(Self.path()))
    let keys = [
      "v", "seq", "time", "mono_ns", "event", "reason", "reachability", "status", "medium", "interface", "index",
      "expensive", "vpn", "ipv4", "address", "gateway", "ipv6", "wifi", "sentence", "activity", "state", "visible",
      "in_flight",
    ]
    var rest = line[...]
    for key in keys {
      let place = try #require(rest.range(of: "\"\(key)\":"), "\(key)")
      rest = rest[place.upperBound...]
    }
    #expect(try Self.object(line).count == 9)
  }

  @Test func `what was lost is named, and read back`() throws {
    var record = Self.record(Self.path(.notReachable, reason: .noCarrier))
    let home = try #require(SSID("Home".utf8))
    for ssid in [nil, home] {
      record.lost = .init(kernelName: InterfaceName("wlan0"), medium: .wifi, ssid: ssid)
      let line = try Self.line(record)
      let lost = try #require(try Self.object(line)["lost"] as? [String: Any])
      #expect(lost["interface"] as? String == "wlan0" && lost["medium"] as? String == "wifi")
      #expect(lost["ssid"] as? String == ssid?.text)
      #expect(EventRecord(line: Array(line.utf8)[...])?.lost == record.lost)
      let sentence = try #require(try Self.object(line)["sentence"] as? String)
      #expect(sentence.hasPrefix("Offline: wlan0 has no carrier") && sentence.contains("“Home”") == (ssid != nil))
    }
    record.path = Self.path()
    #expect(
      try Self.object(Self.line(record))["sentence"] as? String
        == "Online over eth0, a wired interface, and no longer over wlan0, in the WiFi network “Home”.")
    // The first line of a reader that comes later is only about the current state.
    #expect(record.asInitial.lost == nil)
  }

  @Test func `the sentence names the target, and stands only where the state is told`() throws {
    var writer = JSONLineWriter()
    writer.target = try NetworkTarget("example.org")
    writer.write(Self.record(Self.path(.notReachable, reason: .noRoute)))
    #expect(
      String(decoding: writer.line, as: UTF8.self).contains(
        #""sentence":"example.org is not reachable: no route leads there.""#))
    for event in EventRecord.Event.allCases {
      writer.write(Self.record(Self.path(), event))
      let line = String(decoding: writer.line, as: UTF8.self)
      #expect(line.contains("sentence") == [.initial, .reachability].contains(event), "\(event)")
    }
  }

  @Test func `a WiFi network says as much of its connection as is known`() throws {
    var verdict = Self.path().verdict
    verdict.ssid = SSID(Array("home".utf8))
    var connection = WiFiConnection()
    func wifi() throws -> String {
      let path = NetworkPath(verdict: verdict, reason: .roamed, interfaces: [], connection: connection)
      let line = try Self.line(Self.record(path, .wifi))
      #expect(line.contains(#""event":"wifi","reason":"roamed""#))
      return String(line.split(separator: #""wifi":"#)[1].prefix { $0 != "}" })
    }
    let name = #"{"ssid":"home","ssid_hex":"686f6d65","#
    #expect(try wifi() == name + #""signal_dbm":null,"signal_percent":null"#)
    connection.signal = WiFiSignal(dBm: -60)
    connection.accessPointAddress = 0x02_00_00_00_01_0a
    #expect(try wifi() == name + #""signal_dbm":-60,"signal_percent":80,"bssid":"02:00:00:00:01:0a""#)
    (connection.frequency, connection.receiveRate, connection.transmitRate) = (5_180, 433_300, 1_000)
    #expect(
      try wifi() == name
        + #""signal_dbm":-60,"signal_percent":80,"frequency_mhz":5180,"band":"5 GHz","rx_mbps":433.3,"tx_mbps":1,"#
        + #""bssid":"02:00:00:00:01:0a""#)
    connection.frequency = 3_650
    #expect(try wifi().contains(#""frequency_mhz":3650,"band":null,"#))
  }

  @Test func `the quality of the link that carries the traffic is told to a tenth, and that of another one is not`()
    throws
  {
    var record = Self.record(Self.path())
    func quality() throws -> String? {
      let line = try Self.line(record)
      #expect(line.contains(#""event":"quality","reason":"sampled""#) == (record.event == .quality))
      return line.dropLast(2).components(separatedBy: #","quality":"#).dropFirst().first
    }
    #expect(try quality() == nil)
    record.tellsQuality = true
    #expect(try quality() == "null")
    let (index, name) = try #require(record.path.carrier)
    func figures(_ index: Int32, _ time: Int?, _ loss: Int?) -> LinkQuality {
      LinkQuality(
        kernelName: name, interfaceIndex: index, connections: 5, tenthsOfMilliseconds: time, tenthsOfPercent: loss)
    }
    record.event = .quality
    record.quality = figures(index, 234, 3)
    #expect(
      try quality() == #"{"interface":"\#(name.text)","rtt_ms":23.4,"loss_percent":0.3,"connections":5}"#)
    record.quality = figures(index, nil, nil)
    #expect(
      try quality() == #"{"interface":"\#(name.text)","rtt_ms":null,"loss_percent":null,"connections":5}"#)
    record.event = .reachability
    record.quality = figures(index + 1, 234, 3)
    #expect(try quality() == "null")
  }

  @Test func `a line says of each stage what is known, and where the login page is`() throws {
    var record = Self.record(Self.path(), .stages)
    record.internet = .portal
    record.portalURL = PortalURL(#"http://login.example/?a="b"&c=\d"#)
    record.stages = NetworkStages { stage in
      switch stage {
      case .link: StageFinding(.running)
      case .address: StageFinding(.configured, .v4(0x0a00_0001))
      case .gateway: StageFinding(.neighbourStale, .v6(0xfe80 << 112 | 1))
      case .dns: StageFinding(.noAnswer)
      case .internet: StageFinding(.portal)
      }
    }
    let line = try Self.line(record)
    #expect(line.contains(#""event":"stages","reason":"stage_changed","#))
    #expect(line.contains(#""internet":"portal","portal_url":"http://login.example/?a=\"b\"&c=\\d"}"#))
    #expect(
      line.contains(
        #""stages":{"failing":"dns","link":{"state":"ok","evidence":"running"},"#
          + #""address":{"state":"ok","evidence":"configured","address":"10.0.0.1"},"#
          + #""gateway":{"state":"unknown","evidence":"neighbour_stale","address":"fe80::1"},"#
          + #""dns":{"state":"failed","evidence":"no_answer"},"internet":{"state":"failed","evidence":"portal"}}"#))
    var plain = Self.record(Self.path(), .stages)
    plain.internet = .portal
    (record.stages, record.portalURL) = (nil, nil)
    #expect(record == plain)
  }

  @Test func `the values of the key event are fixed`() {
    #expect(
      EventRecord.Event.allCases.map(\.rawValue) == [
        "initial", "reachability", "activity", "interfaces", "traffic", "wifi", "quality", "stages",
      ])
  }
}
