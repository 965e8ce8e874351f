import Netwatch
import NetwatchEventLoop

/// Writes an ``EventRecord`` as one JSON line, version 1 of the schema.
///
/// The writer reuses its memory for each line, so nothing is allocated once the memory has grown to the longest line.
public struct JSONLineWriter: ~Copyable {
  private var buffer = LineBuffer()
  private var clock = ClockText()
  /// The target that the paths of records lead to, which their sentences name. Default: the internet.
  public var target = NetworkTarget.internet

  /// Creates a writer whose ``line`` is empty.
  public init() {}

  /// The last line, including its newline.
  public var line: [UInt8] {
    buffer.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe [UInt8]($0) } }
  }

  /// Calls `body` with the last line, including its newline, without copying it. Rethrows the error of `body`.
  public func withLine<Result, Failure: Error>(_ body: (RawSpan) throws(Failure) -> Result) throws(Failure) -> Result {
    try buffer.withBytes(body)
  }

  /// Writes `record` to ``line``, replacing the last line.
  public mutating func write(_ record: EventRecord) { write(record, programs: nil) }

  /// Writes `record` and more to ``line``, replacing the last line.
  ///
  /// - Parameters:
  ///   - record: The event.
  ///   - programs: The programs whose connections are in flight. Nil leaves the key out.
  ///   - network: The ID of the network; the inner nil means that it is not known. The outer nil leaves the key out.
  ///   - service: The service that sends the line. Nil leaves the key out.
  package mutating func write(
    _ record: EventRecord, programs: [NamedCount]? = nil, network: NetworkIdentity?? = nil,
    service: ServiceIdentity? = nil
  ) {
    buffer.removeAll()
    clock.update(nanosecondsSince1970: record.nanosecondsSince1970)
    buffer.append(record, programs, network, clock, about: target)
    if let service { buffer.append(service) }
    buffer.append("}\n")
  }
}

/// The text of a line's time. If two lines are in the same second, only the microseconds are written anew.
private struct ClockText: ~Copyable {
  private(set) var upToSecond = LineBuffer(capacity: 64)
  private(set) var microsecond: UInt64 = 0
  private var second: UInt64?

  /// Times before 1970 count as 1970.
  mutating func update(nanosecondsSince1970: Int64) {
    let (second, nanosecond) = UInt64(clamping: nanosecondsSince1970).quotientAndRemainder(dividingBy: 1_000_000_000)
    microsecond = nanosecond / 1_000
    guard second != self.second else { return }
    self.second = second
    upToSecond.removeAll()
    upToSecond.append(CivilTime(secondsSince1970: Int64(second)))
  }
}

extension LineBuffer {
  fileprivate mutating func append(
    _ record: EventRecord, _ programs: [NamedCount]?, _ network: NetworkIdentity??, _ clock: borrowing ClockText,
    about target: NetworkTarget
  ) {
    append(#"{"v":1,"seq":"#)
    appendDecimal(record.sequence)
    append(#","time":""#)
    append(clock.upToSecond)
    append(".")
    appendDecimal(clock.microsecond, digits: 6)
    append(#"Z","mono_ns":"#)
    appendDecimal(UInt64(clamping: record.monotonicNanoseconds))
    append(#","event":""#)
    append(text: record.event.rawValue)
    append(#"","reason":""#)
    append(text: record.reason)
    append(#"","reachability":{"#)
    append(record.path)
    if let internet = record.internet {
      append(#","internet":""#)
      append(text: internet.rawValue)
      append("\"")
      if let portal = record.portalURL {
        append(#","portal_url":"#)
        appendQuoted(portal.description)
      }
    }
    if let network { append(network) }
    if let announcements = record.announcements {
      append(#","portal_api":"#)
      if let portal = announcements.portalAPI { appendQuoted(portal.description) } else { append("null") }
      if let portal = announcements.captivePortal { append(portal) }
      append(#","name_servers":"#)
      appendList(announcements.nameServers) { $0.appendQuoted($1.description) }
      append(record.translation)
    }
    if record.tellsCable {
      append(#","link":"#)
      append(record.cable?.json ?? .null)
    }
    append("}")
    if let lost = record.lost { append(lost) }
    if let ending = record.wifiEnding {
      append(#","wifi_end":"#)
      append(ending.json)
    }
    if record.event == .initial || record.event == .reachability {
      append(#","sentence":"#)
      appendQuoted(record.answer(about: target))
    }
    if record.listsInterfaces {
      append(#","interfaces":["#)
      let figures = (record.traffic ?? []).map { ($0.interfaceIndex, $0) }
      let traffic = Dictionary(figures, uniquingKeysWith: { first, _ in first })
      for (position, interface) in record.path.links.enumerated() {
        if position > 0 { append(",") }
        append(interface, in: record, traffic[interface.index])
      }
      append("]")
    }
    append(#","activity":{"state":""#)
    append(text: record.activity.state.rawValue)
    append(record.activity.state.isVisible ? #"","visible":true,"in_flight":"# : #"","visible":false,"in_flight":"#)
    appendDecimal(UInt64(clamping: record.activity.inFlight))
    if record.activity.connections != nil || record.activity.datagrams != nil {
      append(parts: record.activity)
      if record.activity.connections != nil, let programs { append(programs) }
    }
    append("}")
    if record.traffic != nil {
      append(#","traffic":"#)
      append(ofPath: record.carrierTraffic)
    }
    if record.tellsQuality {
      append(#","quality":"#)
      append(record.carrierQuality)
    }
    if let stages = record.stages { append(stages) }
    if let uplinks = record.uplinks {
      append(#","uplinks":"#)
      appendList(uplinks) { $0.append($1) }
    }
  }

  private mutating func append(_ uplink: Uplink) {
    append(#"{"interface":"#)
    append(name: uplink.kernelName)
    append(#","index":"#)
    appendDecimal(UInt64(clamping: uplink.interfaceIndex))
    append(#","medium":""#)
    append(text: uplink.medium.rawValue)
    append(uplink.isInUse ? #"","in_use":true"# : #"","in_use":false"#)
    append(uplink.stages)
    append("}")
  }

  private mutating func append(_ lost: NetworkPath.LostInterface) {
    append(#","lost":{"interface":"#)
    append(name: lost.kernelName)
    append(#","medium":""#)
    append(text: lost.medium.rawValue)
    append(#"","ssid":"#)
    if let ssid = lost.ssid { appendQuoted(ssid.text) } else { append("null") }
    append("}")
  }

  private mutating func append(_ network: NetworkIdentity?) {
    append(#","network_id":"#)
    if let network { appendQuoted(network.description) } else { append("null") }
  }

  private mutating func append(parts activity: EventRecord.Activity) {
    append(#","in_flight_by":{"requests":"#)
    appendDecimal(UInt64(clamping: activity.requests))
    if let connections = activity.connections {
      append(#","tcp":"#)
      appendDecimal(UInt64(clamping: connections))
    }
    if let datagrams = activity.datagrams {
      append(#","udp":"#)
      appendDecimal(UInt64(clamping: datagrams))
    }
    append("}")
  }

  fileprivate mutating func append(_ service: ServiceIdentity) {
    append(#","service":{"protocol":"#)
    appendDecimal(ServiceIdentity.protocolVersion)
    append(#","version":"#)
    if let version = service.version { appendQuoted(version) } else { append("null") }
    append(#","namespace":"#)
    if let namespace = service.namespace {
      append(#"{"device":"#)
      appendDecimal(namespace.device)
      append(#","inode":"#)
      appendDecimal(namespace.inode)
      append("}")
    } else {
      append("null")
    }
    append(#","counts":"#)
    if let counts = service.counts { appendQuoted(counts.text) } else { append("null") }
    append("}")
  }

  private mutating func append(_ programs: [NamedCount]) {
    append(#","programs":["#)
    for (position, program) in programs.enumerated() {
      append(position > 0 ? #",{"name":"# : #"{"name":"#)
      appendQuoted(program.name)
      append(#","tcp":"#)
      appendDecimal(UInt64(clamping: program.count))
      append("}")
    }
    append("]")
  }

  mutating func append(_ path: NetworkPath) {
    append(#""status":""#)
    append(text: path.status.rawValue)
    if path.isLocalOnly { append(#"","scope":"local"#) }
    guard path.isReachable, let medium = path.medium, let name = path.kernelName,
      let index = path.interfaceIndex
    else {
      let nothing: StaticString = #"","medium":null,"interface":null,"index":null,"expensive":null,"vpn":null,"#
      append(nothing)
      append(#""ipv4":null,"ipv6":null,"wifi":null"#)
      return
    }
    append(#"","medium":""#)
    append(text: medium.rawValue)
    append(#"","interface":"#)
    append(name: name)
    append(#","index":"#)
    appendDecimal(UInt64(clamping: index))
    append(#","expensive":"#)
    append(path.isExpensive ? "true" : "false")
    if let expense = path.expense {
      append(#","expensive_because":"#)
      if expense == .unknown { append("null") } else { appendQuoted(expense.rawValue) }
    }
    if path.isConstrained { append(#","constrained":true"#) }
    append(#","vpn":"#)
    append(path.vpn)
    append(#","ipv4":"#)
    append(path.ipv4, isTranslated: path.isIPv4Translated)
    append(#","ipv6":"#)
    append(path.ipv6)
    append(#","wifi":"#)
    append(path.wifi)
  }

  /// Appends a tunnel as JSON, or `null`.
  package mutating func append(_ vpn: VPN?) {
    guard let vpn else { return append("null") }
    append(#"{"interface":"#)
    append(name: vpn.kernelName)
    append(#","kind":""#)
    append(text: vpn.kind.rawValue)
    append(vpn.isCarrierKnown ? #"","carrier":"known","families":["# : #"","carrier":"unknown","families":["#)
    if vpn.families.contains(.ipv4) { append(vpn.families.contains(.ipv6) ? #""ipv4","# : #""ipv4""#) }
    append(vpn.families.contains(.ipv6) ? #""ipv6"]}"# : "]}")
  }

  private mutating func append(_ wifi: WiFiNetwork?) {
    guard let wifi else { return append("null") }
    append(#"{"ssid":"#)
    appendForeign(count: wifi.ssid.count, byte: { wifi.ssid[$0] }, text: { wifi.ssid.text })
    append(#","ssid_hex":""#)
    for position in 0..<wifi.ssid.count { appendHex(UInt16(wifi.ssid[position]), digits: 2) }
    append(#"","signal_dbm":"#)
    if let signal = wifi.signal {
      if signal.dBm < 0 { append("-") }
      appendDecimal(UInt64(signal.dBm.magnitude))
      append(#","signal_percent":"#)
      appendDecimal(UInt64(clamping: signal.percent))
    } else {
      append(#"null,"signal_percent":null"#)
    }
    append(wifi.connection)
    append("}")
  }

  /// Appends the values that are present only if they were asked for and the driver reports them.
  private mutating func append(_ connection: WiFiConnection) {
    if let frequency = connection.frequency {
      append(#","frequency_mhz":"#)
      appendDecimal(UInt64(clamping: frequency))
      append(#","band":"#)
      if let band = connection.band { appendQuoted(band.rawValue) } else { append("null") }
    }
    append(#","rx_mbps":"#, connection.receiveRate)
    append(#","tx_mbps":"#, connection.transmitRate)
    if let roams = connection.roamsInLastHour {
      append(#","roams_last_hour":"#)
      appendDecimal(UInt64(clamping: roams))
    }
    guard let accessPoint = connection.accessPointAddress else { return }
    append(#","bssid":""#)
    append(hardwareAddress: accessPoint)
    append("\"")
  }

  private mutating func append(_ key: StaticString, _ kilobits: Int?) {
    guard let kilobits else { return }
    append(key)
    append(megabits: kilobits)
  }

  fileprivate mutating func append(_ family: NetworkPath.FamilyPath?, isTranslated: Bool = false) {
    guard let family else { return append("null") }
    append(#"{"address":""#)
    family.address.write(to: &self)
    append(#"","gateway":"#)
    if let gateway = family.gateway {
      append("\"")
      gateway.write(to: &self)
      append("\"")
    } else {
      append("null")
    }
    // An older service does not report it.
    if let name = family.kernelName {
      append(#","interface":"#)
      append(name: name)
    }
    if isTranslated { append(#","translated":true"#) }
    append("}")
  }

  fileprivate mutating func append(_ interface: Interface, in record: EventRecord, _ traffic: LinkTraffic?) {
    append(#"{"name":"#)
    append(name: interface.kernelName)
    append(#","index":"#)
    appendDecimal(UInt64(clamping: interface.index))
    append(#","medium":""#)
    append(text: interface.medium.rawValue)
    append(#"","status":""#)
    append(text: record.path.status(of: interface).rawValue)
    append(#"","operational_state":""#)
    append(interface.operationalState.name)
    if let block = interface.radioBlock {
      append(#"","rfkill":""#)
      append(text: block.rawValue)
    }
    append(#"","addresses":["#)
    for (position, address) in interface.addresses.enumerated() {
      append(position > 0 ? ",\"" : "\"")
      address.address.write(to: &self)
      append("/")
      appendDecimal(UInt64(address.prefixLength))
      append("\"")
    }
    append("]")
    if record.traffic != nil {
      append(#","traffic":"#)
      // An index can be used again, by a link of another name.
      append(traffic.flatMap { $0.kernelName == interface.kernelName ? $0 : nil })
    }
    append("}")
  }

  mutating func append(name: InterfaceName) {
    appendForeign(count: name.count, byte: { name[$0] }, text: { name.text })
  }

  /// Appends a name that an outsider has chosen; characters that ``Unicode/Scalar/isUnsafeInTerminal`` names are escaped. A string is
  /// only made of names that are not plain ASCII.
  private mutating func appendForeign(count length: Int, byte: (Int) -> UInt8, text: () -> String) {
    append("\"")
    let start = count
    for position in 0..<length {
      let byte = byte(position)
      guard 0x20..<0x7f ~= byte, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else {
        removeLast(count - start)
        for scalar in text().unicodeScalars { appendEscaped(scalar) }
        break
      }
      append(byte)
    }
    append("\"")
  }

  private mutating func append(_ translation: IPv4Translation?) {
    append(#","translation":"#)
    guard let translation else { return append("null") }
    append(#"{"prefix":"#)
    if let prefix = translation.prefix { appendQuoted(prefix.description) } else { append("null") }
    append(#","by":""#)
    append(text: translation.translator.rawValue)
    append("\"}")
  }

  private mutating func append(_ portal: CaptivePortal) {
    append(#","captive_portal":{"captive":"#)
    append(portal.isCaptive ? "true" : "false")
    for (key, page) in [("user_portal_url", portal.loginPage), ("venue_info_url", portal.venuePage)] {
      append(text: ",\"\(key)\":")
      if let page { appendQuoted(page.description) } else { append("null") }
    }
    let numbers = [
      ("seconds_remaining", portal.secondsRemaining.map { Int64($0) }), ("bytes_remaining", portal.bytesRemaining),
    ]
    for (key, number) in numbers { append(text: ",\"\(key)\":\(number.map { "\($0)" } ?? "null")") }
    append("}")
  }

  /// Appends a text as a JSON string with its quotes.
  package mutating func appendQuoted(_ text: String) {
    append("\"")
    for scalar in text.unicodeScalars { appendEscaped(scalar) }
    append("\"")
  }

  private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0x22, 0x5c:
      append("\\")
      append(UInt8(scalar.value))
    case _ where scalar.isUnsafeInTerminal:
      for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
        append("\\u")
        appendHex(unit, digits: 4)
      }
    default:
      for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
    }
  }

  /// Appends a time as RFC 3339 in UTC with its quotes, to the microsecond. Times before 1970 count as 1970.
  package mutating func appendTime(nanosecondsSince1970: Int64) {
    let (second, nanosecond) = UInt64(clamping: nanosecondsSince1970).quotientAndRemainder(dividingBy: 1_000_000_000)
    append("\"")
    append(CivilTime(secondsSince1970: Int64(second)))
    append(".")
    appendDecimal(nanosecond / 1_000, digits: 6)
    append("Z\"")
  }

  /// Appends a time as RFC 3339 in UTC, to the second.
  package mutating func append(_ time: CivilTime) {
    appendDecimal(UInt64(time.year), digits: 4)
    append("-")
    appendDecimal(UInt64(time.month), digits: 2)
    append("-")
    appendDecimal(UInt64(time.day), digits: 2)
    append("T")
    appendDecimal(UInt64(time.hour), digits: 2)
    append(":")
    appendDecimal(UInt64(time.minute), digits: 2)
    append(":")
    appendDecimal(UInt64(time.second), digits: 2)
  }
}

extension String {
  /// The text as a JSON string with its quotes.
  package var json: String {
    var line = LineBuffer(capacity: utf8.count + 64)
    line.appendQuoted(self)
    return line.text
  }
}

extension OperationalState {
  /// The name that `ip link` shows, in lower case.
  package var name: StaticString {
    switch self {
    case .unknown: "unknown"
    case .notPresent: "not-present"
    case .down: "down"
    case .lowerLayerDown: "lower-layer-down"
    case .testing: "testing"
    case .dormant: "dormant"
    case .up: "up"
    }
  }
}

/// Figures of links. They are only in the lines of readers that have asked for them.
extension LineBuffer {
  mutating func append(_ quality: LinkQuality?) {
    guard let quality else { return append("null") }
    append(#"{"interface":"#)
    append(name: quality.kernelName)
    append(#","rtt_ms":"#)
    append(tenthsOrNull: quality.tenthsOfMilliseconds)
    append(#","loss_percent":"#)
    append(tenthsOrNull: quality.tenthsOfPercent)
    append(#","connections":"#)
    appendDecimal(UInt64(clamping: quality.connections))
    append("}")
  }

  private mutating func append(tenthsOrNull value: Int?) {
    if let value { append(tenths: value) } else { append("null") }
  }

  /// Appends the traffic of a link, or `null`.
  private mutating func append(_ traffic: LinkTraffic?) {
    guard let traffic else { return append("null") }
    append("{")
    append(figures: traffic)
    append("}")
  }

  /// Appends the traffic of a path, with that of each link if there are several. `null` if it is not known.
  private mutating func append(ofPath traffic: LinkTraffic?) {
    guard let traffic else { return append("null") }
    append(#"{"interface":"#)
    append(name: traffic.kernelName)
    append(",")
    append(figures: traffic)
    var separator: StaticString = #","links":["#
    for link in traffic.links {
      append(separator)
      separator = ","
      append(#"{"interface":"#)
      append(name: link.kernelName)
      append(#","index":"#)
      appendDecimal(UInt64(UInt32(bitPattern: link.interfaceIndex)))
      append(",")
      append(figures: link)
      append("}")
    }
    append(traffic.links.isEmpty ? "}" : "]}")
  }

  private mutating func append(figures traffic: LinkTraffic) {
    append(#""rx_bps":"#)
    appendDecimal(orNull: traffic.receivedBitsPerSecond)
    append(#","tx_bps":"#)
    appendDecimal(orNull: traffic.sentBitsPerSecond)
    append(#","rx_bytes":"#)
    appendDecimal(traffic.receivedBytes)
    append(#","tx_bytes":"#)
    appendDecimal(traffic.sentBytes)
  }

  /// Appends the key `stages` with the state of each stage.
  package mutating func append(_ stages: NetworkStages) {
    append(#","stages":{"failing":"#)
    if let failing = stages.failing { appendQuoted(failing.rawValue) } else { append("null") }
    for stage in NetworkStage.allCases {
      let finding = stages[stage]
      append(",")
      appendQuoted(stage.rawValue)
      append(#":{"state":""#)
      append(text: finding.state.rawValue)
      append(#"","evidence":""#)
      append(text: finding.evidence.rawValue)
      append("\"")
      if let address = finding.address {
        append(#","address":""#)
        address.write(to: &self)
        append("\"")
      }
      append("}")
    }
    append("}")
  }

  private mutating func appendDecimal(orNull value: UInt64?) {
    if let value { appendDecimal(value) } else { append("null") }
  }
}
