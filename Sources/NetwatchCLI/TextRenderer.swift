import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// Lines for a person: time, mark, status, medium, interface, address, why.
///
/// ```
/// 14:03:11 ● wifi          wired     eth0       192.168.122.10  initial
/// 14:05:42 ○ not reachable                                      no carrier
/// 14:07:02 ⇅ wifi          wired     eth0       192.168.122.10  busy, 2 in flight
/// ```
///
/// Of the activity, a person sees whether it is visible; each begin and end would fill the screen.
final class TextRenderer: LineRenderer {
  private enum Column {
    static let status = 13
    static let medium = 9
    static let interface = 10
    static let address = 15
    static let network = 32
  }

  private enum Color: String {
    case green = "32", yellow = "33", red = "31", dim = "2"
  }

  private let terminal: Terminal
  private var wasVisible = false
  private var programs: ((EventRecord) -> [EventRecord.ProgramCount]?)?

  init(terminal: Terminal) { self.terminal = terminal }

  func prepare(on loop: EventLoop) throws {
    try terminal.followResizes(on: loop)
  }

  func print(_ record: EventRecord, to output: StandardOutput) throws(CommandFailure) {
    guard shows(record) else { return }
    wasVisible = record.activity.state.isVisible
    var text = line(record)
    if record.listsInterfaces {
      for interface in record.path.interfaces { text += self.line(interface, in: record.path) }
    }
    let bytes = [UInt8](text.utf8)
    try unsafe output.write(bytes.span.bytes)
  }

  func namePrograms(_ body: @escaping (EventRecord) -> [EventRecord.ProgramCount]?) { programs = body }

  func shows(_ record: EventRecord) -> Bool {
    record.event != .activity || record.activity.state.isVisible != wasVisible
  }

  // MARK: The line

  private func line(_ record: EventRecord) -> String {
    let path = record.path
    let color = color(of: path.status)
    let reason = reason(record) + details(of: path)
    let clock = localTime(record.nanosecondsSince1970)
    let status = pad(words(path.status.rawValue), Column.status)
    let medium = pad(path.medium?.rawValue ?? "", Column.medium)
    let interface = pad(fit(clean(path.interfaceName ?? ""), Column.interface), Column.interface)

    // What is left goes to the address, which yields where it is long, and to the reason.
    let before = clock.count + 3 + status.count + 1 + medium.count + 1 + interface.count + 1
    let room = max(Column.address, terminal.width - before - 1 - reason.count)
    let address = pad(fit(addressText(path), room), Column.address)

    var line =
      paint(clock, .dim) + " " + paint(record.activity.state.isVisible ? busyMark : mark(path.status), color) + " "
    line += paint(status, color) + " "
    line += medium + " " + interface + " " + address + " " + paint(reason, .dim)
    return line + "\n"
  }

  private func reason(_ record: EventRecord) -> String {
    let activity = record.activity
    let running = activity.inFlight > 0 ? ", \(activity.inFlight) in flight" + names(record) : ""
    switch record.event {
    case .interfaces: return "links changed" + running
    case .activity where record.activityReason == .serviceLost: return words(record.reason)
    case .activity: return (activity.state.isVisible ? "busy" : "idle") + running
    default: return words(record.reason) + running
    }
  }

  /// A program names itself as it likes.
  private func names(_ record: EventRecord) -> String {
    let names = programs?(record)?.map { "\(clean($0.name)) \($0.connections)" } ?? []
    return names.isEmpty ? "" : ": " + names.joined(separator: ", ")
  }

  /// The WiFi network and the tunnel, where there are any.
  private func details(of path: NetworkPath) -> String {
    var text = ""
    if let wifi = path.wifi {
      let name = fit(clean(wifi.ssid.text), Column.network)
      text += terminal.isUnicode ? ", “\(name)”" : ", \"\(name)\""
      if let signal = wifi.signal { text += " \(signal.percent) %" }
    }
    if let vpn = path.vpn { text += ", through \(clean(vpn.interfaceName))" }
    return text
  }

  private var busyMark: String { terminal.isUnicode ? "⇅" : "%" }

  private func addressText(_ path: NetworkPath) -> String {
    (path.ipv4 ?? path.ipv6)?.address.description ?? ""
  }

  private func mark(_ status: ReachabilityStatus) -> String {
    switch status {
    case .wifi, .wwan: terminal.isUnicode ? "●" : "*"
    case .notReachable: terminal.isUnicode ? "○" : "-"
    case .unknown: "?"
    }
  }

  private func color(of status: ReachabilityStatus) -> Color {
    switch status {
    case .wifi: .green
    case .wwan, .unknown: .yellow
    case .notReachable: .red
    }
  }

  private func line(_ interface: Interface, in path: NetworkPath) -> String {
    let status = path.status(of: interface)
    let addresses = interface.addresses.map { "\($0.address)/\($0.prefixLength)" }.joined(separator: " ")
    let name = pad(clean(interface.name), 15)
    let medium = pad(interface.medium.rawValue, Column.medium)
    let state = pad(words(interface.operationalState.name.description), 16)
    let shown = fit(addresses, max(Column.address, terminal.width - 46))
    return "  " + paint(mark(status), color(of: status)) + " " + name + " " + medium + " " + state + " " + shown + "\n"
  }

  // MARK: Pieces

  private func localTime(_ nanoseconds: Int64) -> String {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var local = unsafe tm()
    unsafe localtime_r(&seconds, &local)
    return unsafe [local.tm_hour, local.tm_min, local.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(
      separator: ":")
  }

  private func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private func fit(_ text: String, _ width: Int) -> String {
    guard text.count > width else { return text }
    return text.prefix(max(0, width - 1)) + (terminal.isUnicode ? "…" : "~")
  }

  private func paint(_ text: String, _ color: Color) -> String {
    terminal.usesColor ? "\u{1b}[\(color.rawValue)m\(text)\u{1b}[0m" : text
  }
}
