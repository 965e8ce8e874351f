import Foundation
import NetwatchTestSupport
import Testing

/// A line of the stream, as a reader sees it.
struct Line: CustomStringConvertible {
  let text: String
  let object: [String: Any]

  init(_ text: String) throws {
    self.text = text
    guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
      throw TestFailure("not an object: \(text)")
    }
    // What a service answers to a mistake, or if it is full, is no event.
    if object["error"] == nil { keepLine(text, of: "event") }
    self.object = object
  }

  var description: String { text }
  var sequence: Int? { object["seq"] as? Int }
  var event: String? { object["event"] as? String }
  var reason: String? { object["reason"] as? String }
  var interfaces: [[String: Any]]? { object["interfaces"] as? [[String: Any]] }
  private var reachability: [String: Any] { object["reachability"] as? [String: Any] ?? [:] }
  var status: String? { reachability["status"] as? String }
  var medium: String? { reachability["medium"] as? String }
  var interface: String? { reachability["interface"] as? String }
  /// What a probe has found; nil where none is made.
  var internet: String? { reachability["internet"] as? String }
  var isExpensive: Bool? { reachability["expensive"] as? Bool }
  /// Why the path may cost money, and whether little is to be sent over it, such as `rule constrained`.
  var cost: String {
    let reason = reachability["expensive_because"].map { $0 as? String ?? "unknown" } ?? "free"
    return reason + (reachability["constrained"] as? Bool == true ? " constrained" : "")
  }
  var vpn: [String: Any]? { reachability["vpn"] as? [String: Any] }
  /// The tunnel and whether it is known what carries it, such as `tun0 known`.
  var tunnel: String? { vpn.map { "\($0["interface"] ?? "?") \($0["carrier"] ?? "?")" } }
  var wifi: [String: Any]? { reachability["wifi"] as? [String: Any] }
  var networkName: String? { wifi?["ssid"] as? String }
  /// The bytes of the name, in hexadecimal.
  var networkBytes: String? { wifi?["ssid_hex"] as? String }
  var ipv4: [String: Any]? { reachability["ipv4"] as? [String: Any] }
  var ipv6: [String: Any]? { reachability["ipv6"] as? [String: Any] }

  private var activity: [String: Any] { object["activity"] as? [String: Any] ?? [:] }
  var state: String? { activity["state"] as? String }
  var isVisible: Bool? { activity["visible"] as? Bool }
  var inFlight: Int? { activity["in_flight"] as? Int }
  /// What is in flight, by what it is; nil where TCP connections are not counted.
  private var inFlightBy: [String: Any]? { activity["in_flight_by"] as? [String: Any] }
  var requestsInFlight: Int? { inFlightBy?["requests"] as? Int }
  var tcpInFlight: Int? { inFlightBy?["tcp"] as? Int }
  var udpInFlight: Int? { inFlightBy?["udp"] as? Int }
  /// How many connections each program has; nil where programs are not named.
  var programs: [String: Int]? {
    (activity["programs"] as? [[String: Any]])?.reduce(into: [:]) { counts, program in
      if let name = program["name"] as? String { counts[name] = program["tcp"] as? Int }
    }
  }
  var monotonicNanoseconds: Int? { object["mono_ns"] as? Int }
  /// The same clock.
  static var monotonicNow: Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }

  /// What most tests look at: status, reason, interface.
  var summary: String { "\(status ?? "?") \(reason ?? "?") \(interface ?? "-")" }
}

/// `netwatch --follow` while a test changes its world.
final class Follow {
  let process: ChildProcess
  private(set) var lines: [Line] = []
  private let trace: String?

  /// - Parameter trace: where the process records; at the end the trace must give the same lines again.
  init(_ process: ChildProcess, trace: String? = nil) {
    self.process = process
    self.trace = trace
  }

  deinit {
    guard let trace else { return }
    do { try replay(trace) } catch { Issue.record("\(trace): \(error)") }
    unsafe unlink(trace)
  }

  static func newTrace() -> String { "/tmp/netwatch-\(UUID().uuidString).trace" }

  private func replay(_ trace: String) throws {
    process.signal(SIGTERM)
    try readToEnd()
    let replayed = try ChildProcess.run([Programs.netwatch, "replay", "--json", trace])
    // Ended within a turn, it may have printed a line less, or recorded a turn without its line.
    let told = lines.map(\.text)
    guard abs(replayed.output.count - told.count) <= 1, zip(told, replayed.output).allSatisfy({ $0 == $1 }) else {
      throw TestFailure("replayed \(replayed.output) \(replayed.error), told \(told)")
    }
  }

  func next(at place: SourceLocation = #_sourceLocation) throws -> Line {
    guard let text = try process.nextLine(at: place) else {
      throw TestFailure("\(place.fileID):\(place.line): the stream has ended: \(try process.errorText(at: place))")
    }
    let line = try Line(text)
    // The library says at once that a host's name is not known yet.
    if lines.isEmpty, line.status == "unknown", Programs.follower != nil { return try next(at: place) }
    lines.append(line)
    return line
  }

  /// Reads the lines that no test has asked for, until the process ends.
  func readToEnd() throws {
    while let text = try process.nextLine() { lines.append(try Line(text)) }
  }

  /// The summary of the next line.
  func summary(at place: SourceLocation = #_sourceLocation) throws -> String { try next(at: place).summary }

  /// True if nothing more came. It provokes the next line itself, so that it waits for an event and not for a while.
  func isQuiet(in namespace: NetworkNamespace, at place: SourceLocation = #_sourceLocation) throws -> Bool {
    try Self.areQuiet([self], in: namespace, at: place)
  }

  /// True if nothing but lines of one kind of event came.
  func isQuiet(
    in namespace: NetworkNamespace, butFor event: String, at place: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    let count = lines.count
    while try !isQuiet(in: namespace, at: place) {}
    return lines[count...].allSatisfy { $0.event == event || $0.event == "reachability" }
  }

  /// True if nothing more came to any of them.
  static func areQuiet(
    _ follows: [Follow], in namespace: NetworkNamespace, at place: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    // A link of its own with a route to the very target always makes a line.
    try namespace.configure(
      "link add mark0 type veth peer name mark1", "link set mark1 up", "link set mark0 up",
      "addr add 203.0.113.1/24 dev mark0", "route add 192.0.2.1/32 dev mark0 src 203.0.113.1")
    let lines = try follows.map { try $0.next(at: place) }
    try namespace.run("ip link del mark0")
    for follow in follows { _ = try follow.next(at: place) }
    let others = lines.filter { $0.interface != "mark0" }
    for line in others { print("not quiet: \(line.text)") }
    return others.isEmpty
  }
}
