import Netwatch
import NetwatchEventLoop

extension EventRecord {
  /// Reads a line of the stream. Nil if the line is not an event (such as a response), or if a number in it is out of range.
  package init?(line: ArraySlice<UInt8>) {
    guard let record = JSONValue(line).flatMap({ EventRecord($0) }) else { return nil }
    self = record
  }

  /// Reads a line of the stream, version 1 of the schema. Unknown keys are ignored.
  package init?(_ value: JSONValue) {
    guard value["v"]?.integer == 1, let sequence = value["seq"]?.integer(in: 0...Int64.max),
      let monotonic = value["mono_ns"]?.integer(in: 0...Int64.max),
      let time = value["time"]?.string.flatMap(nanoseconds(of:)),
      let event = value["event"]?.string.flatMap(Event.init), let reason = value["reason"]?.string,
      let reachability = value["reachability"], let activity = value["activity"].flatMap(Activity.init)
    else { return nil }
    // Lines of these events do not give the path's reason, and a later version may have new reasons.
    let known =
      switch event {
      case .activity, .traffic, .quality, .stages: ReachabilityReason?.none
      case .initial, .reachability, .interfaces, .wifi: ReachabilityReason(rawValue: reason)
      }
    guard let path = NetworkPath(reachability, because: known) else { return nil }
    self.init(
      sequence: UInt64(clamping: sequence), nanosecondsSince1970: time, monotonicNanoseconds: monotonic, event: event,
      path: path)
    self.activity = activity
    activityReason = ActivityReason(rawValue: reason) ?? .requestBegan
    internet = reachability["internet"]?.string.map { InternetAccess(rawValue: $0) ?? .unknown }
    portalURL = reachability["portal_url"]?.string.flatMap(PortalURL.init)
    stages = value["stages"].map { NetworkStages($0) }
    lost = value["lost"].flatMap(NetworkPath.LostInterface.init)
    wifiEnding = value["wifi_end"].flatMap { WiFiEnding($0) }
    readFindings(value)
    if let quality = value["quality"] {
      tellsQuality = true
      if quality != .null {
        guard let index = path.interfaceIndex, let figures = LinkQuality(quality, of: index) else { return nil }
        self.quality = figures
      }
    }
    guard let traffic = value["traffic"] else { return }
    self.traffic = []
    guard traffic != .null else { return }
    guard let index = path.interfaceIndex else { return nil }
    let links = traffic["links"]?.array.map { $0.map { LinkTraffic($0, of: nil) } } ?? [LinkTraffic(traffic, of: index)]
    guard !links.contains(nil) else { return nil }
    self.traffic = links.compactMap { $0 }
  }

  // MARK: What is found out apart from netlink

  /// Reads what the network says, the cable and the uplinks, from a line or from ``findingsForTrace``.
  package mutating func readFindings(_ value: JSONValue) {
    let reachability = value["reachability"] ?? .null
    announcements = NetworkAnnouncements(reachability)
    if let link = reachability["link"] { (tellsCable, cable) = (true, CableState(link)) }
    uplinks = value["uplinks"]?.array?.compactMap { Uplink($0) }
  }

  /// What the network says, the cable and the uplinks, as the JSON of these members of the line. Nil if the line has none of them.
  package var findingsForTrace: String? {
    guard announcements != nil || tellsCable || uplinks != nil else { return nil }
    var writer = JSONLineWriter()
    writer.write(self)
    guard let line = JSONValue(writer.line[...]), case .object(let members)? = line["reachability"] else { return nil }
    let names = ["portal_api", "captive_portal", "name_servers", "translation", "link"]
    var found = ["reachability": JSONValue.object(members.filter { names.contains($0.key) })]
    found["uplinks"] = line["uplinks"]
    var text = LineBuffer()
    text.append(.object(found))
    return text.withBytes { bytes in unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
  }
}

extension NetworkAnnouncements {
  /// Reads the object `reachability`. Nil if it has nothing of what networks say.
  init?(_ reachability: JSONValue) {
    guard let portal = reachability["portal_api"] else { return nil }
    self.init(
      portalAPI: portal.string.flatMap(PortalAPI.init),
      captivePortal: reachability["captive_portal"].flatMap(CaptivePortal.init),
      translationPrefix: reachability["translation"]?["prefix"]?.string.flatMap(NAT64Prefix.init),
      nameServers: reachability["name_servers"]?.array?.compactMap { $0.string.flatMap(InternetAddress.init) } ?? [])
  }
}

extension CaptivePortal {
  fileprivate init?(_ value: JSONValue) {
    guard let isCaptive = value["captive"]?.bool else { return nil }
    self.init(
      isCaptive: isCaptive, loginPage: value["user_portal_url"]?.string, venuePage: value["venue_info_url"]?.string,
      secondsRemaining: value["seconds_remaining"]?.integer, bytesRemaining: value["bytes_remaining"]?.integer)
  }
}

extension NetworkPath.LostInterface {
  init?(_ value: JSONValue) {
    guard let name = value["interface"]?.string, let medium = value["medium"]?.string.flatMap(Medium.init) else {
      return nil
    }
    self.init(
      kernelName: InterfaceName(name), medium: medium, ssid: value["ssid"]?.string.flatMap { SSID($0.utf8) })
  }
}

extension WiFiConnection {
  /// Nil if a value is out of the range that drivers report.
  fileprivate init?(_ value: JSONValue?) {
    self.init()
    let signal = value?["signal_dbm"] ?? .null
    // Drivers report the signal in eight bits, if at all.
    self.signal = signal.integer(in: -128...127).map { WiFiSignal(dBm: Int($0)) }
    guard signal == .null || self.signal != nil else { return nil }
    frequency = value?["frequency_mhz"]?.integer(in: 1...Int64(UInt32.max)).map { Int($0) }
    receiveRate = value?["rx_mbps"].flatMap(Self.kilobits)
    transmitRate = value?["tx_mbps"].flatMap(Self.kilobits)
    roamsInLastHour = value?["roams_last_hour"]?.integer(in: 0...1_000).map { Int($0) }
    accessPointAddress = value?["bssid"]?.string.flatMap(Self.address)
  }

  private static func kilobits(_ value: JSONValue) -> Int? {
    switch value {
    case .integer(let megabits) where 1...1_000_000 ~= megabits: Int(megabits) * 1_000
    case .number(let megabits) where 0.1...1_000_000 ~= megabits: Int((megabits * 1_000).rounded())
    default: nil
    }
  }

  /// Reads `02:00:00:00:01:00`.
  private static func address(_ text: String) -> UInt64? {
    let bytes = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { digits in
      digits.count == 2 ? UInt8(String(Substring(digits)), radix: 16) : nil
    }
    guard bytes.count == 6, !bytes.contains(nil) else { return nil }
    return bytes.reduce(0) { $0 << 8 | UInt64($1 ?? 0) }
  }
}

extension LinkTraffic {
  /// - Parameter index: The index of the link; nil if the value has it.
  fileprivate init?(_ value: JSONValue, of index: Int32?) {
    func number(_ key: String) -> UInt64? { value[key]?.integer(in: 0...Int64.max).map { UInt64($0) } }
    guard let name = value["interface"]?.string, let received = number("rx_bytes"), let sent = number("tx_bytes"),
      let index = index ?? value["index"]?.integer(in: 1...Int64(Int32.max)).map({ Int32($0) })
    else { return nil }
    self.init(
      kernelName: InterfaceName(name), interfaceIndex: index, receivedBytes: received, sentBytes: sent)
    receivedBitsPerSecond = number("rx_bps")
    sentBitsPerSecond = number("tx_bps")
  }
}

extension Uplink {
  /// Nil if a value is missing or out of range.
  init?(_ value: JSONValue) {
    guard let name = value["interface"]?.string, let medium = value["medium"]?.string.flatMap(Medium.init),
      let index = value["index"]?.integer(in: 1...Int64(Int32.max)), let isInUse = value["in_use"]?.bool,
      let stages = value["stages"]
    else { return nil }
    self.init(
      interfaceIndex: Int32(index), kernelName: InterfaceName(name), medium: medium, isInUse: isInUse,
      stages: NetworkStages(stages))
  }
}

extension LinkQuality {
  /// Nil if a value is missing or out of range.
  init?(_ value: JSONValue, of index: Int32) {
    guard let name = value["interface"]?.string,
      let connections = value["connections"]?.integer(in: 0...Int64(Int32.max))
    else { return nil }
    func tenths(_ key: String, _ most: Double) -> Int? {
      switch value[key] {
      case .integer(let whole) where 0...most ~= Double(whole): Int(whole) * 10
      case .number(let number) where 0...most ~= number: Int((number * 10).rounded())
      default: nil
      }
    }
    self.init(
      kernelName: InterfaceName(name), interfaceIndex: index, connections: Int(connections),
      tenthsOfMilliseconds: tenths("rtt_ms", 1e7), tenthsOfPercent: tenths("loss_percent", 100))
  }
}

extension NetworkStages {
  /// A word that only a later version knows counts as not examined.
  init(_ value: JSONValue) {
    self.init { stage in
      guard let finding = value[stage.rawValue],
        let evidence = finding["evidence"]?.string.flatMap(StageFinding.Evidence.init)
      else { return StageFinding(.notExamined) }
      return StageFinding(evidence, finding["address"]?.string.flatMap(InternetAddress.init))
    }
  }
}

extension EventRecord.Activity {
  /// The largest count: far above what a service can count, and small enough that sums do not overflow.
  private static let most = Int64(Int32.max)

  fileprivate init?(_ value: JSONValue) {
    guard let state = value["state"]?.string.flatMap(ActivityState.init),
      let inFlight = value["in_flight"]?.integer(in: 0...Self.most)
    else { return nil }
    self.init()
    self.state = state
    self.inFlight = Int(inFlight)
    guard let parts = value["in_flight_by"] else { return }
    for (key, part) in [("tcp", \Self.connections), ("udp", \.datagrams)] {
      guard let value = parts[key] else { continue }
      guard let count = value.integer(in: 0...inFlight) else { return nil }
      self[keyPath: part] = Int(count)
    }
    // The line tells these parts apart only if one is counted, and their sum cannot exceed the total.
    guard (connections ?? 0) + (datagrams ?? 0) <= self.inFlight, connections != nil || datagrams != nil else {
      return nil
    }
  }
}

extension NetworkPath {
  /// Reads the object `reachability` of a line. Nil if a value is missing or out of range.
  ///
  /// - Parameter reason: The reason of the path; nil if the line does not give it.
  init?(_ value: JSONValue, because reason: ReachabilityReason?) {
    guard let verdict = Verdict(value), let connection = WiFiConnection(value["wifi"]) else { return nil }
    let reason = reason ?? (verdict.isReachable ? .resynced : .unresolved)
    self.init(verdict: verdict, reason: reason, interfaces: [], connection: connection)
  }
}

extension NetworkPath.Verdict {
  fileprivate init?(_ value: JSONValue) {
    guard let status = value["status"]?.string.flatMap(ReachabilityStatus.init) else { return nil }
    self.init(status: status)
    isLocalOnly = status == .notReachable && value["scope"]?.string == "local"
    guard isReachable else { return }
    guard let medium = value["medium"]?.string.flatMap(Medium.init), let name = value["interface"]?.string,
      let index = value["index"]?.integer(in: 1...Int64(Int32.max))
    else { return nil }
    self.medium = medium
    interfaceName = InterfaceName(name)
    interfaceIndex = Int32(index)
    if value["expensive"]?.bool ?? false {
      cost.expense = value["expensive_because"]?.string.flatMap(Expense.init) ?? .unknown
    }
    cost.isConstrained = value["constrained"]?.bool ?? false
    ssid = value["wifi"]?["ssid_hex"]?.string.flatMap(SSID.init(hex:))
    ipv4 = value["ipv4"].flatMap { NetworkPath.FamilyPath($0, over: interfaceIndex) }
    ipv6 = value["ipv6"].flatMap { NetworkPath.FamilyPath($0, over: interfaceIndex) }
    vpn = value["vpn"].flatMap { VPN($0, families) }
  }
}

extension VPN {
  /// The stream does not give the index of the tunnel's interface. An older service does not report whether the carrier is
  /// known, because it always was, nor the families, which it did not tell apart.
  fileprivate init?(_ value: JSONValue, _ reachable: AddressFamilies) {
    guard let name = value["interface"]?.string, let kind = value["kind"]?.string else { return nil }
    let names = value["families"]?.array?.compactMap(\.string)
    self.init(
      kernelName: InterfaceName(name), interfaceIndex: 0, kind: TunnelKind(rawValue: kind) ?? .other,
      isCarrierKnown: value["carrier"]?.string != "unknown",
      families: Set(
        AddressFamily.allCases.filter { family in
          names.map { $0.contains(family == .ipv4 ? "ipv4" : "ipv6") } ?? reachable.contains(family)
        }))
  }
}

extension SSID {
  fileprivate init?(hex: String) {
    let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue.map { UInt8($0) } }
    guard digits.count == hex.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
    self.init(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }
}

extension NetworkPath.FamilyPath {
  fileprivate init?(_ value: JSONValue, over index: Int32?) {
    guard let address = value["address"]?.string.flatMap(InternetAddress.init) else { return nil }
    self.init(
      address: address, gateway: value["gateway"]?.string.flatMap(InternetAddress.init), interfaceIndex: index ?? 0,
      kernelName: value["interface"]?.string.map { InterfaceName($0) })
  }
}

/// Reads a time such as `2026-11-21T02:15:00.123456Z`.
///
/// - Returns: The nanoseconds since 1970.
package func nanoseconds(of text: String) -> Int64? {
  let bytes = Array(text.utf8)
  let pattern = Array("0000-00-00T00:00:00.000000Z".utf8)
  guard bytes.count == pattern.count else { return nil }
  for (byte, wanted) in zip(bytes, pattern) {
    let isDigit = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    guard wanted == UInt8(ascii: "0") ? isDigit : byte == wanted else { return nil }
  }
  func number(_ range: Range<Int>) -> Int64 { bytes[range].reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } }
  let time = CivilTime(
    year: number(0..<4), month: number(5..<7), day: number(8..<10), hour: number(11..<13), minute: number(14..<16),
    second: number(17..<19))
  // Nanoseconds in an Int64 end in 2262.
  guard let time, time.year < 2262 else { return nil }
  return time.secondsSince1970 * 1_000_000_000 + number(20..<26) * 1_000
}
