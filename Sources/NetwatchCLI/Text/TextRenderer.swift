import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchStream

/// Prints lines for people: time, mark, connection, interface, address, reason.
///
/// ```
/// 14:03:11 ● wired                   eth0       192.168.122.10
/// 14:05:42 ○ not reachable                                      no carrier
/// 14:07:02 ⇅ wired                   eth0       192.168.122.10  busy, 2 in flight
/// ```
///
/// If a terminal is too narrow, a line continues below. A line about activity is printed only when the visibility of activity
/// changes, because a line for each begin and end would fill the screen.
///
/// A snapshot has no time. It answers in a sentence, and lists the interfaces:
///
/// ```
/// ● wired  eth0  192.168.122.10
///   Online over eth0, a wired interface.
/// ```
final class TextRenderer: LineRenderer {
  /// The positions of the columns after the time.
  private static let column = (connection: 11, interface: 35, address: 46, reason: 62)
  /// The most columns of names and addresses.
  private static let width = (interface: 10, address: 15, network: 32, label: 32)
  /// The most columns of a WiFi network's name if the line has columns.
  private static let networkColumn = 15

  /// What a snapshot is about, and what it shows.
  struct Snapshot {
    let target: NetworkTarget
    /// Decides by name which interfaces count; nil for all.
    var counts: ((_ name: String) -> Bool)?
    /// Whether all interfaces are listed, and not only the important ones.
    var listsAll = false
    /// Whether the quality is also shown if it is not known.
    var showsQuality = false
  }

  private let terminal: Terminal
  private let saysWhy: Bool
  private let units: TrafficUnits
  /// Nil if lines follow one another.
  private let snapshot: Snapshot?
  private var wasVisible = false
  /// The interface that carried the traffic when the last line was printed.
  private var formerName: String?

  /// - Parameters:
  ///   - saysWhy: Whether a sentence beneath each line explains the reason.
  ///   - units: The unit of rates. Default: bits.
  ///   - snapshot: What a snapshot is about, which answers whether the target is reachable. Default: nil, lines follow one another.
  init(terminal: Terminal, saysWhy: Bool = false, units: TrafficUnits = .bits, snapshot: Snapshot? = nil) {
    self.terminal = terminal
    self.saysWhy = saysWhy
    self.units = units
    self.snapshot = snapshot
  }

  func prepare(on loop: EventLoop, failed: @escaping (any Error) -> Void) throws {
    try terminal.followResizes(on: loop)
  }

  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) throws(PlainError) -> Bool {
    if record.event == .activity, record.activity.state.isVisible == wasVisible { return false }
    try output.write(text(record, names))
    return true
  }

  /// Returns the lines for a record that is shown.
  func text(_ record: EventRecord, _ names: LineNames = LineNames()) -> String {
    if record.event == .traffic { return trafficLines(record) }
    if record.event == .quality { return qualityLine(record) }
    wasVisible = record.activity.state.isVisible
    var text = line(record, names)
    if let snapshot {
      text += answer(record, snapshot)
    } else if saysWhy, record.event != .activity, record.event != .interfaces {
      text += sentence(record.path)
    }
    formerName = record.path.interfaceName
    if snapshot != nil || saysWhy && record.event != .activity, let stages = record.stages {
      text += StageTable(stages: stages, terminal: terminal).text
    }
    if let uplinks = record.uplinks, record.event == .initial || record.event == .reachability {
      text += UplinkTable(uplinks: uplinks, terminal: terminal).text
    }
    if record.listsInterfaces {
      if snapshot != nil { text += "\n" }
      text += LinkTable(record.path, on: terminal, isWhole: snapshot?.listsAll ?? true, explains: saysWhy).text
    }
    return text
  }

  // MARK: The line

  private func line(_ record: EventRecord, _ names: LineNames) -> String {
    let path = record.path
    let reasons = reasons(record, names)
    // The rest of the line is for the address, which is shortened if it is long, and for the reason.
    let room = terminal.columns.map { $0 - Self.column.address - 1 - (reasons.first?.columns ?? 0) } ?? .max
    // If the terminal is too narrow for the columns, there are none.
    let hasColumns = snapshot == nil && Self.column.reason <= terminal.columns ?? .max
    func start(_ column: Int) -> Int { hasColumns ? column : 0 }

    var line = terminal.foldedText(indent: snapshot == nil ? Self.column.connection : 2)
    let fault = path.isReachable ? record.internet.flatMap { terminal.mark(ofFault: $0) } : nil
    let color = fault == nil ? terminal.color(of: path.status) : .yellow
    let mark = fault ?? terminal.mark(path.status)
    if snapshot == nil { line.append(localTime(record.nanosecondsSince1970), .dim) }
    line.append(record.activity.state.isVisible ? terminal.busyMark : mark, color)
    line.append(connection(path, isShort: hasColumns), color, at: start(Self.column.connection))
    line.append(
      fit((path.interfaceName ?? "").sanitizedForTerminal, hasColumns ? Self.width.interface : .max),
      at: start(Self.column.interface), gap: snapshot == nil ? 1 : 2)
    line.append(
      fit(addressText(path), hasColumns ? max(Self.width.address, room) : .max), at: start(Self.column.address),
      gap: snapshot == nil ? 1 : 2)
    for (position, reason) in reasons.enumerated() {
      line.append(
        reason, .dim, at: position == 0 ? start(Self.column.reason) : 0,
        gap: position == 0 && snapshot != nil ? 2 : 1)
    }
    return line.lines
  }

  /// Returns what carries the traffic, such as `wired` or `wifi “Café”`, or the status if nothing does.
  private func connection(_ path: NetworkPath, isShort: Bool) -> String {
    guard path.isReachable else { return path.status.rawValue.words }
    guard let wifi = path.wifi else { return path.medium?.rawValue ?? "reachable" }
    return "wifi " + quoted(fit(wifi.ssid.text.sanitizedForTerminal, isShort ? Self.networkColumn : Self.width.network))
  }

  /// Returns the sentence that says whether this machine is online, over which interface, and if not, why.
  private func answer(_ record: EventRecord, _ snapshot: Snapshot) -> String {
    var line = terminal.foldedText(indent: 2)
    let answer = record.answer(about: snapshot.target, counts: snapshot.counts)
    for (position, word) in answer.split(separator: " ").enumerated() {
      line.append(String(word), at: position == 0 ? 2 : 0)
    }
    return line.lines
  }

  /// Returns the reason and the details, each with a comma if another one follows.
  private func reasons(_ record: EventRecord, _ names: LineNames) -> [String] {
    let phrases = ([reason(record, names)] + details(of: record)).filter { !$0.isEmpty }
    return phrases.dropLast().map { $0 + "," } + phrases.suffix(1)
  }

  private func sentence(_ path: NetworkPath) -> String {
    guard let sentence = path.sentence(after: formerName) else { return "" }
    var line = terminal.foldedText(indent: Self.column.connection)
    line.append(sentence, at: Self.column.connection)
    return line.lines
  }

  private func reason(_ record: EventRecord, _ names: LineNames) -> String {
    let activity = record.activity
    let inFlight = activity.inFlight > 0 ? "\(activity.inFlight) in flight" + text(of: names, record.activity) : ""
    let running = inFlight.isEmpty ? "" : ", " + inFlight
    switch record.event {
    case .interfaces: return "links changed" + running
    case .traffic, .quality: return ""
    case .wifi: return record.reason.words
    case .stages: return record.stages?.faultWords ?? "no fault is known"
    case .activity where record.activityReason == .serviceLost: return record.reason.words
    case .activity: return (activity.state.isVisible ? "busy" : "idle") + running
    case .reachability where record.path.reason == .internetChanged:
      return "\(record.internet?.words ?? "")" + running
    // Nothing has changed: this is the present state.
    case .initial where record.path.reason == .initial: return inFlight
    default: return record.reason.words + running
    }
  }

  /// Returns the names of programs and requests. Programs choose them, so they are made harmless.
  private func text(of names: LineNames, _ activity: EventRecord.Activity) -> String {
    var words = names.programs?()?.map { "\($0.name.sanitizedForTerminal) \($0.count)" } ?? []
    if saysWhy {
      words += names.requests().map { "\(quoted(fit($0.name.sanitizedForTerminal, Self.width.label))) \($0.count)" }
    }
    if names.programs != nil, activity.datagrams ?? 0 > 0 { words.append("UDP") }
    return words.isEmpty ? "" : ": " + words.joined(separator: ", ")
  }

  /// Returns the details of the path, such as the WiFi signal, the tunnel and what a probe has found.
  private func details(of record: EventRecord) -> [String] {
    let path = record.path
    var details: [String] = []
    if path.isLocalOnly { details.append("local network only") }
    if let wifi = path.wifi {
      if let signal = wifi.signal { details.append("signal \(signal.percent) %") }
      details += connectionDetails(wifi.connection)
    }
    if let vpn = path.vpn {
      let name = vpn.interfaceName.sanitizedForTerminal
      let part = path.partlyCovered.map { "\($0) " } ?? ""
      details.append(part + (vpn.isCarrierKnown ? "through \(name)" : "over \(name), on an unknown link"))
    }
    // The reason already says what the probe has found.
    if let internet = record.internet, path.isReachable, record.event != .activity, path.reason != .internetChanged {
      details.append("\(internet.words)")
    }
    if let portal = record.portalURL, record.event != .activity { details.append(portal.encoded) }
    if let announcements = record.announcements, record.event == .initial || record.event == .reachability {
      details += portalDetails(announcements)
      let servers = announcements.nameServers.map(\.description)
      if !servers.isEmpty {
        details.append("name server\(servers.count == 1 ? "" : "s") \(servers.joined(separator: " "))")
      }
      if let translation = record.translation {
        if let prefix = translation.prefix { details.append("NAT64 \(prefix)") }
        if translation.translator == .clat { details.append("IPv4 translated") }
      }
    }
    if record.event == .initial || record.event == .reachability {
      if let ending = record.wifiEnding { details.append("\(ending)") }
      if let cable = record.cable?.words { details.append(cable) }
    }
    if record.event != .stages, path.isReachable, let fault = record.stages?.faultWords { details.append(fault) }
    if let quality = record.carrierQuality,
      snapshot?.showsQuality == true || quality.tenthsOfMilliseconds != nil || quality.tenthsOfPercent != nil
    {
      details.append(qualityText(quality))
    }
    return details
  }

  /// Returns the details of what the network says about its login page.
  private func portalDetails(_ announcements: NetworkAnnouncements) -> [String] {
    guard let portal = announcements.captivePortal else {
      return switch announcements.portalAPI {
      case .address(let address)?: ["portal API \(address.encoded)"]
      case .unrestricted?: ["no login needed"]
      case nil: []
      }
    }
    if portal.isCaptive { return [portal.loginPage.map { "login needed at \($0.encoded)" } ?? "login needed"] }
    var details = ["no login needed"]
    if let seconds = portal.secondsRemaining { details.append("\(timeText(seconds)) left") }
    if let bytes = portal.bytesRemaining { details.append("\(bytes.asBytes) left") }
    return details
  }

  /// Returns a time as people count what is left of it, rounded down: `40 s`, `58 min`, `3 h`, `2 d`.
  private func timeText(_ seconds: Int) -> String {
    switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3_600: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3_600) h"
    default: "\(seconds / 86_400) d"
    }
  }

  /// Returns the details of the WiFi connection that were requested: band, rates and access point.
  private func connectionDetails(_ connection: WiFiConnection) -> [String] {
    var details: [String] = []
    if let frequency = connection.frequency { details.append(connection.band?.rawValue ?? "\(frequency) MHz") }
    var rates = LineBuffer(capacity: 64)
    for (mark, rate) in [("down", connection.receiveRate), ("up", connection.transmitRate)] {
      guard let rate else { continue }
      if rates.count > 0 { rates.append(" ") }
      rates.append(text: terminal.isUnicode ? mark == "down" ? "↓ " : "↑ " : mark + " ")
      rates.append(megabits: rate)
    }
    if rates.count > 0 { details.append(rates.text + " Mb/s") }
    if let roams = connection.roamsInLastHour, roams > 1 { details.append("\(roams) roams in the last hour") }
    if let accessPoint = connection.accessPoint { details.append(accessPoint) }
    return details
  }

  private func addressText(_ path: NetworkPath) -> String {
    (path.ipv4 ?? path.ipv6)?.address.description ?? ""
  }

  // MARK: Traffic

  /// Returns a line for each link that carries the traffic, then lines for the others if they were requested.
  private func trafficLines(_ record: EventRecord) -> String {
    let carriers = record.carriersTraffic
    let others =
      record.traffic?.filter { link in !carriers.contains { $0.interfaceIndex == link.interfaceIndex } } ?? []
    return (carriers + others).map { trafficLine($0, at: record.nanosecondsSince1970) }.joined()
  }

  private func trafficLine(_ traffic: LinkTraffic, at time: Int64) -> String {
    var rates = LineBuffer(capacity: 64)
    rates.append(terminal.isUnicode ? "↓ " : "in ")
    rates.append(rate: traffic.receivedBitsPerSecond, in: units)
    rates.append(terminal.isUnicode ? "  ↑ " : " out ")
    rates.append(rate: traffic.sentBitsPerSecond, in: units)
    var line = terminal.foldedText(indent: Self.column.connection)
    line.append(localTime(time), .dim)
    line.append(rates.text, at: Self.column.connection)
    line.append(fit(traffic.interfaceName.sanitizedForTerminal, Self.width.interface), .dim, at: Self.column.interface)
    return line.lines
  }

  // MARK: How well the link works

  private func qualityLine(_ record: EventRecord) -> String {
    guard let quality = record.carrierQuality else { return "" }
    var line = terminal.foldedText(indent: Self.column.connection)
    line.append(localTime(record.nanosecondsSince1970), .dim)
    line.append(qualityText(quality), at: Self.column.connection)
    line.append(fit(quality.interfaceName.sanitizedForTerminal, Self.width.interface), .dim, at: Self.column.interface)
    return line.lines
  }

  /// Returns the quality as text, such as `23.4 ms, 0.3 % lost`.
  private func qualityText(_ quality: LinkQuality) -> String {
    func text(_ tenths: Int) -> String {
      var number = LineBuffer(capacity: 32)
      number.append(tenths: tenths)
      return number.text
    }
    return switch (quality.tenthsOfMilliseconds.map(text), quality.tenthsOfPercent.map(text)) {
    case (let time?, let loss?): "\(time) ms, \(loss) % lost"
    case (let time?, nil): "\(time) ms, loss unknown"
    case (nil, let loss?): "\(loss) % lost"
    case (nil, nil): "quality unknown"
    }
  }

  // MARK: Pieces

  private func localTime(_ nanoseconds: Int64) -> String {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var local = unsafe tm()
    unsafe localtime_r(&seconds, &local)
    return unsafe [local.tm_hour, local.tm_min, local.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(
      separator: ":")
  }

  private func quoted(_ text: String) -> String { terminal.isUnicode ? "“\(text)”" : "\"\(text)\"" }

  private func fit(_ text: String, _ width: Int) -> String {
    text.fitted(to: width, ellipsis: terminal.isUnicode ? "…" : "~")
  }
}

extension Terminal {
  fileprivate var busyMark: String { isUnicode ? "⇅" : "%" }
  /// Returns the mark for a fault of the internet; nil if there is no fault.
  fileprivate func mark(ofFault internet: InternetAccess) -> String? {
    switch internet {
    case .portal: isUnicode ? "◐" : "!"
    case .absent: isUnicode ? "◌" : "x"
    case .full, .unknown: nil
    }
  }

  func mark(_ status: ReachabilityStatus) -> String {
    switch status {
    case .wifi, .wwan: isUnicode ? "●" : "*"
    case .notReachable: isUnicode ? "○" : "-"
    case .unknown: "?"
    }
  }

  func color(of status: ReachabilityStatus) -> TextColor {
    switch status {
    case .wifi: .green
    case .wwan, .unknown: .yellow
    case .notReachable: .red
    }
  }
}
