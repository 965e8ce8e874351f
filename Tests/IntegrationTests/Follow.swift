import Foundation
import NetwatchTestSupport
import Testing

/// A JSON line of netwatch's stream of events, read as a client reads it.
struct Line: CustomStringConvertible {
  let text: String
  let object: [String: Any]

  init(_ text: String) throws {
    self.text = text
    guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
      throw TestFailure("not an object: \(text)")
    }
    // If a client makes a mistake, or if the service is full, the service answers with an error, which is no event.
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
  /// What a probe has found out about the internet; nil if there is no probe.
  var internet: String? { reachability["internet"] as? String }
  var isExpensive: Bool? { reachability["expensive"] as? Bool }
  /// The reason why the path may cost money, or `free`, and whether the path is constrained, such as `rule
  /// constrained`.
  var cost: String {
    let reason = reachability["expensive_because"].map { $0 as? String ?? "unknown" } ?? "free"
    return reason + (reachability["constrained"] as? Bool == true ? " constrained" : "")
  }
  var vpn: [String: Any]? { reachability["vpn"] as? [String: Any] }
  /// The tunnel, and whether its carrier is known, such as `tun0 known`; nil if the path uses no tunnel.
  var tunnel: String? { vpn.map { "\($0["interface"] ?? "?") \($0["carrier"] ?? "?")" } }
  var wifi: [String: Any]? { reachability["wifi"] as? [String: Any] }
  var networkName: String? { wifi?["ssid"] as? String }
  /// The bytes of the WiFi network's name, in hexadecimal digits.
  var networkBytes: String? { wifi?["ssid_hex"] as? String }
  var ipv4: [String: Any]? { reachability["ipv4"] as? [String: Any] }
  var ipv6: [String: Any]? { reachability["ipv6"] as? [String: Any] }

  private var activity: [String: Any] { object["activity"] as? [String: Any] ?? [:] }
  var state: String? { activity["state"] as? String }
  var isVisible: Bool? { activity["visible"] as? Bool }
  var inFlight: Int? { activity["in_flight"] as? Int }
  /// The number in flight of each kind; nil if neither TCP connections nor UDP flows are counted.
  private var inFlightBy: [String: Any]? { activity["in_flight_by"] as? [String: Any] }
  var requestsInFlight: Int? { inFlightBy?["requests"] as? Int }
  var tcpInFlight: Int? { inFlightBy?["tcp"] as? Int }
  var udpInFlight: Int? { inFlightBy?["udp"] as? Int }
  /// The number of TCP connections of each program, by the program's name; nil if the line names no programs.
  var programs: [String: Int]? {
    (activity["programs"] as? [[String: Any]])?.reduce(into: [:]) { counts, program in
      if let name = program["name"] as? String { counts[name] = program["tcp"] as? Int }
    }
  }
  var monotonicNanoseconds: Int? { object["mono_ns"] as? Int }
  /// The present time on the clock of `monotonicNanoseconds`, in nanoseconds.
  static var monotonicNow: Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }

  /// The status, the reason and the interface, which most tests look at.
  var summary: String { "\(status ?? "?") \(reason ?? "?") \(interface ?? "-")" }
}

/// A process of `netwatch --follow`, whose lines a test reads while it changes the network.
final class Follow {
  let process: ChildProcess
  private(set) var lines: [Line] = []
  private let trace: String?

  /// - Parameters:
  ///   - process: The process, with a pipe as its standard output.
  ///   - trace: The file to which the process records. When the object is released, `netwatch replay` of this file must
  ///     give the same lines. Default: nothing is recorded.
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
    // If netwatch was ended in the middle of a turn of its loop, it may have printed one line less, or recorded a turn
    // without printing its line.
    let told = lines.map(\.text)
    guard abs(replayed.output.count - told.count) <= 1, zip(told, replayed.output).allSatisfy({ $0 == $1 }) else {
      throw TestFailure("replayed \(replayed.output) \(replayed.error), told \(told)")
    }
  }

  /// Waits for the next line and returns it. Throws a `TestFailure` if the stream ends or no line comes in time.
  func next(at place: SourceLocation = #_sourceLocation) throws -> Line {
    guard let text = try process.nextLine(at: place) else {
      throw TestFailure("\(place.fileID):\(place.line): the stream has ended: \(try process.errorText(at: place))")
    }
    let line = try Line(text)
    // A program that uses libnetwatch first reports that the addresses of a host are not known yet.
    if lines.isEmpty, line.status == "unknown", Programs.follower != nil { return try next(at: place) }
    lines.append(line)
    return line
  }

  /// Reads the lines that were not read yet, until the process ends.
  func readToEnd() throws {
    while let text = try process.nextLine() { lines.append(try Line(text)) }
  }

  /// Waits for the next line and returns its summary.
  func summary(at place: SourceLocation = #_sourceLocation) throws -> String { try next(at: place).summary }

  /// Returns whether no line has come since the last one that was read. The function provokes the next line itself, so
  /// that it waits for an event and not for a fixed time.
  func isQuiet(in namespace: NetworkNamespace, at place: SourceLocation = #_sourceLocation) throws -> Bool {
    try Self.areQuiet([self], in: namespace, at: place)
  }

  /// Waits until no more lines come, and returns whether all lines since the last one that was read are events of the
  /// kind `event`. Events about reachability are permitted as well, because the function provokes some.
  func isQuiet(
    in namespace: NetworkNamespace, butFor event: String, at place: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    let count = lines.count
    while try !isQuiet(in: namespace, at: place) {}
    return lines[count...].allSatisfy { $0.event == event || $0.event == "reachability" }
  }

  /// Returns whether no line has come to any of the followers since the last line that each has read.
  static func areQuiet(
    _ follows: [Follow], in namespace: NetworkNamespace, at place: SourceLocation = #_sourceLocation
  ) throws -> Bool {
    // A new link with a route to exactly the probe address 192.0.2.1 always makes a line.
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
