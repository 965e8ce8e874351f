import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `--log`, `netwatch log` and `netwatch report`: what is stored, and that logging disturbs nobody.
@Suite struct LogTests {
  private let folder: TemporaryFolder
  private var state: String { "XDG_STATE_HOME=\(folder.path)" }
  private var file: String { folder.file("netwatch/log.sqlite") }

  init() throws { folder = try TemporaryFolder() }

  private func follow(_ namespace: NetworkNamespace, _ options: String...) throws -> Follow {
    try Follow(
      ChildProcess(
        namespace.command([Programs.netwatch, "-f", "--json", "--log"] + options), environment: [state]))
  }

  private func log(_ arguments: String...) throws -> [String] {
    let (ending, output, error) = try ChildProcess.run(
      [Programs.netwatch, "log"] + arguments, environment: [state, "TZ=UTC", "LC_ALL=C"])
    guard ending == .exited(0) else { throw TestFailure("\(ending): \(error)") }
    return output
  }

  private func objects(_ arguments: String...) throws -> [[String: Any]] {
    try ChildProcess.run([Programs.netwatch, "log", "--json"] + arguments, environment: [state]).output.map { line in
      keepLine(line, of: "log")
      return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
  }

  /// Waits until the log has at least `count` changes, and returns them. The program that writes the log is another
  /// process.
  @discardableResult
  private func changes(_ count: Int, at place: SourceLocation = #_sourceLocation) throws -> [[String: Any]] {
    try eventually(objects().filter { $0["event"] as? String == "change" }, at: place) { $0.count >= count }
  }

  private static func summary(_ change: [String: Any]) -> String {
    ["status", "reason", "interface"].map { change[$0] as? String ?? "-" }.joined(separator: " ")
  }

  /// Returns the process ID of the program that writes the log for netwatch.
  private static func writer(of process: ChildProcess) throws -> pid_t {
    let children = try String(contentsOfFile: "/proc/\(process.pid)/task/\(process.pid)/children", encoding: .utf8)
    return try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
  }

  private static func flap(_ namespace: NetworkNamespace, _ follows: Follow...) throws {
    for change in ["down", "up"] {
      try namespace.run("ip link set v1 \(change)")
      for follow in follows { _ = try follow.next() }
    }
  }

  // MARK: What is stored

  /// A shell sets the umask, because a umask belongs to a whole process.
  @Test(arguments: ["0", "077", "0777"]) func `nobody else may read it, whatever the umask`(umask: String) throws {
    let namespace = try NetworkNamespace.online()
    let follow = try Follow(
      ChildProcess(
        namespace.command([
          "sh", "-c", "umask \(umask); exec \"$@\"", "sh", Programs.netwatch, "-f", "--json", "--log",
        ]), environment: [state]))
    _ = try follow.next()
    _ = try changes(1)
    for (name, mode) in [("", 0o700), ("/log.sqlite", 0o600), ("/log.sqlite-wal", 0o600)] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("netwatch\(name)"))
      #expect(attributes[.posixPermissions] as? Int == mode, "\(name)")
    }
  }

  @Test func `what was printed is in the log, even if netwatch is killed at once`() throws {
    let namespace = try NetworkNamespace.online()
    for _ in 1...20 {
      let follow = try follow(namespace)
      _ = try follow.next()
      follow.process.signal(SIGKILL)
      _ = try follow.process.wait()
    }
    try changes(20)
  }

  @Test func `changes and outages are in the log, and nothing more is printed`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace)
    _ = try follow.next()
    try Self.flap(namespace, follow)
    try namespace.run("ip link set v1 down")
    let lost = try follow.next()
    let stored = try changes(4)
    #expect(
      stored.map(Self.summary) == [
        "wifi initial v0", "not-reachable no_carrier -", "wifi route_up v0", "not-reachable no_carrier -",
      ])
    #expect(stored.map { $0["time"] as? String } == follow.lines.map { $0.object["time"] as? String })
    #expect(stored.last?["mono_us"] as? Int == lost.monotonicNanoseconds.map { $0 / 1_000 })
    let outages = try objects("--outages")
    #expect(outages.map { $0["ended"] as? String } == ["seen", "ongoing"])
    let length = try #require(outages[0]["seconds"] as? Double)
    let told = follow.lines[1...2].compactMap(\.monotonicNanoseconds)
    #expect(abs(length - Double(told[1] - told[0]) / 1e9) < 2e-6)
    follow.process.signal(SIGKILL)
    #expect(try follow.process.wait() == .signalled(SIGKILL))
    // The writer has seen the end of its input, but nobody has seen the end of the outage.
    try eventually(objects("--outages").last?["ended"] as? String) { $0 == "unseen" }
    #expect(try follow.process.errorText() == "")
  }

  @Test func `a carrier that was lost and back while nobody looked is an outage`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace)
    _ = try follow.next()
    try changes(1)
    func losses() throws -> Int? {
      let script = """
        mount -t sysfs s /sys; cd /sys/class/net/v0; cat operstate carrier_down_count; ip link show v0 >/dev/null
        """
      let output = try ChildProcess.run(namespace.command(["unshare", "--mount", "sh", "-c", script])).output
      return output.first == "up" ? output.last.flatMap { Int($0) } : nil
    }
    let before = try #require(try losses())
    // netwatch then reads all messages in one turn of its loop, and finds the path that it knows.
    kill(follow.process.pid, SIGSTOP)
    for _ in 0..<4 { try namespace.run("ip link set v1 down", "ip link set v1 up") }
    // The kernel notices the carrier a little later, and has sent its last message when it gives `ip` its lock.
    try eventually(losses()) { $0 == before + 4 }
    kill(follow.process.pid, SIGCONT)
    let outage = try #require(try eventually(objects("--outages")) { !$0.isEmpty }.first)
    #expect(outage["carrier_losses"] as? Int == 4)
    #expect(outage["reason"] as? String == "no_carrier" && outage["seconds"] as? Double == 0)
    #expect((outage["lost"] as? [String: Any])?["interface"] as? String == "v0")
    // The stream has no line about it: the next one is that of a loss that lasts.
    try namespace.run("ip link set v1 down")
    #expect(try follow.next().summary == "not-reachable no_carrier -")
    try eventually(objects("--outages").map { $0["carrier_losses"] as? Int }) { $0 == [4, 1] }
    #expect(
      try log("--outages").first?.hasSuffix(#"- too short to measure  "v0", no carrier, carrier lost 4 times"#) == true)
  }

  @Test func `text and CSV say the same`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace, "--count", "2")
    _ = try follow.next()
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    // netwatch waits for the writer before it ends.
    #expect(try follow.process.wait() == .exited(0))
    let text = try log()
    #expect(text.count == 3)
    #expect(text[0].hasSuffix("  * virtual        v0            watching began"))
    #expect(text[1].hasSuffix("  - not reachable                no carrier"))
    #expect(text[2].hasPrefix("1 outage, "))
    #expect(
      text[1].hasPrefix(try #require(follow.lines[1].object["time"] as? String).prefix(19).replacing("T", with: " ")))
    let csv = try log("--csv")
    #expect(
      csv[0]
        == "time,event,status,medium,interface,ssid,ssid_hex,expensive,vpn,reason,changes,seconds,mono_us,boot_us,carrier_losses,note"
    )
    #expect(csv[1].contains(",change,wifi,virtual,v0,,,false,,initial,1,,"))
    #expect(csv.count == 3)
    #expect(try log("--outages", "--csv")[1].contains(",no_carrier,seen,unseen,virtual,v0,,,false,"))
    #expect(try log("--since", "2020-01-01").count == 3)
    #expect(try log("--since", "yesterday").count == 3)
    #expect(try log("--since", "30m").count == 3)
    #expect(try log("--since", "2099-01-01") == ["Nothing was watched in this time."])
  }

  @Test func `the service writes too, and a second writer does not break the log`() throws {
    let service = try RunningService("--log", shell: "export \(state)")
    let follow = try follow(service.namespace, "--no-service")
    // A program that falls behind would see several changes as one. So the test waits for the line of each change, also
    // from the service.
    let client = try service.follow()
    for one in [follow, client] { _ = try one.next() }
    for _ in 0..<3 { try Self.flap(service.namespace, follow, client) }
    let stored = try changes(14)
    #expect(stored.count == 14)
    #expect(try objects("--outages").count == 3)
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
    #expect(try service.process.errorText() == "")
  }

  @Test func `with traffic the bytes of the day are in the report`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace, "--traffic", "--traffic-interval", "0.1")
    func sentBytes() throws -> Int {
      while true { if let bytes = try follow.next().traffic?.sentBytes { return bytes } }
    }
    let before = try sentBytes()
    // These datagrams are more than what IPv6 sends by itself.
    try namespace.send(230, bytes: 1_000, to: "10.0.0.2", over: "v0")
    while try sentBytes() - before < 230_000 {}
    follow.process.closeOutput()
    #expect(try follow.process.wait() == .exited(0))
    let page = folder.file("page.html")
    let made = try ChildProcess.run([Programs.netwatch, "report", page], environment: [state])
    #expect(made.ending == .exited(0) && made.output == [] && made.error == "")
    #expect(try hundredsOfKilobytes(in: page))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["netwatch", "page.html"])
    let sum = try #require(try objects("--traffic", "month").first)
    #expect(sum["interface"] as? String == "v0" && (sum["month"] as? String)?.count == 7)
    let sent = try #require(sum["sent_bytes"] as? Int)
    #expect((200_000..<300_000).contains(sent))
    #expect(
      try log("--traffic", "day", "--csv")[1].hasSuffix(",v0,\(try #require(sum["received_bytes"] as? Int)),\(sent)"))
    #expect(try log("--traffic", "day").last?.contains("kB sent") == true)
    // A log that begins later has no bytes.
    #expect(try log("--traffic", "day", "--since", "2099-01-01").first?.hasPrefix("No bytes were counted") == true)
  }

  /// In Berlin, 02:30 comes twice on 25 October 2026.
  @Test func `the hour that comes twice has two offsets`() throws {
    let writer = try ChildProcess([Programs.log, "write"], environment: [state])
    for (number, time) in ["00:30", "01:30"].enumerated() {
      writer.write(
        #"{"v":1,"seq":\#(number + 1),"time":"2026-10-25T\#(time):00.000000Z","mono_ns":\#(number + 1)000000000,"#
          + #""event":"reachability","reason":"no_route","reachability":{"status":"not-reachable","medium":null,"#
          + #""interface":null,"index":null,"expensive":null,"vpn":null,"ipv4":null,"ipv6":null,"wifi":null},"#
          + #""activity":{"state":"inactive","visible":false,"in_flight":0}}"# + "\n")
    }
    writer.closeInput()
    #expect(try writer.wait() == .exited(0))
    for (zone, times) in [
      ("Europe/Berlin", ["2026-10-25 02:30:00+02:00", "2026-10-25 02:30:00+01:00"]),
      ("America/St_Johns", ["2026-10-24 22:00:00-02:30", "2026-10-24 23:00:00-02:30"]),
    ] {
      let (_, output, _) = try ChildProcess.run([Programs.netwatch, "log"], environment: [state, "TZ=\(zone)"])
      #expect(output.dropLast().map { String($0.prefix(25)) } == times)
      let page = try ChildProcess.run(
        [Programs.netwatch, "report", "--since", "2026-10-01", "-"], environment: [state, "TZ=\(zone)"])
      #expect(page.output.joined().contains(times[0]))
    }
  }

  @Test
  func `a service stores the bytes of the day, and its clients get no figures that they did not ask for`() throws {
    let service = try RunningService("--log", "--traffic", "--traffic-interval", "0.1", shell: "export \(state)")
    func client(_ options: String...) throws -> Follow {
      try Follow(
        ChildProcess(
          service.namespace.command([Programs.netwatch, "-f", "--json"] + options),
          environment: ["NETWATCH_SOCKET=\(service.socket)"]))
    }
    let quiet = try client()
    var lines = [try quiet.next()]
    // The service has read the counters about as often as this client.
    let counting = try client("--traffic", "--traffic-interval", "0.1")
    for _ in 0..<12 {
      _ = try counting.next()
      try service.namespace.send(20, bytes: 1_000, to: "10.0.0.2", over: "v0")
    }
    try service.namespace.run("ip link set v1 down")
    lines.append(try quiet.next())
    #expect(lines.map(\.event) == ["initial", "reachability"])
    #expect(lines.allSatisfy { $0.object["traffic"] == nil })
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
    let page = folder.file("page.html")
    let made = try ChildProcess.run([Programs.netwatch, "report", page], environment: [state])
    #expect(made.ending == .exited(0))
    #expect(try hundredsOfKilobytes(in: page))
  }

  /// Whether a report has an amount such as 240 kB behind the heading for bytes.
  private func hundredsOfKilobytes(in page: String) throws -> Bool {
    let text = try String(contentsOfFile: page, encoding: .utf8)
    guard let heading = text.range(of: "<h2>Bytes</h2>") else { return false }
    return text[heading.upperBound...].contains(/[1-9][0-9]{2} kB/)
  }

  // MARK: Failures

  @Test func `a writer that stands still delays no line, and what does not fit is merged`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace)
    _ = try follow.next()
    try changes(1)
    let writer = try Self.writer(of: follow.process)
    kill(writer, SIGSTOP)
    let rounds = 700
    // One `ip` process makes all changes. netwatch handles each change in a turn of its loop of its own.
    let ip = try ChildProcess(namespace.command(["ip", "-batch", "-"]))
    for _ in 0..<rounds {
      for change in ["down", "up"] {
        ip.write("link set v1 \(change)\n")
        _ = try follow.next()
      }
    }
    kill(writer, SIGCONT)
    try Self.flap(namespace, follow)
    let stored = try eventually(objects().compactMap { $0["changes"] as? Int }) { $0.reduce(0, +) >= 2 * rounds + 3 }
    #expect(stored.reduce(0, +) == 2 * rounds + 3)
    // 1,024 changes have waited in netwatch, and further ones in the pipe. All others are merged into one.
    #expect(stored.filter { $0 > 1 }.count == 1)
    #expect(stored.count > 1_024 && stored.count < 2 * rounds)
  }

  @Test func `the end of the writer is told once, and the stream goes on`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace)
    _ = try follow.next()
    _ = try changes(1)
    kill(try Self.writer(of: follow.process), SIGKILL)
    #expect(
      try follow.process.nextErrorLine()
        == "netwatch: netwatch-log was ended by signal 9; changes are not logged any more")
    for _ in 0..<3 { try Self.flap(namespace, follow) }
    follow.process.signal(SIGTERM)
    _ = try follow.process.wait()
    #expect(try follow.process.errorText() == "")
    #expect(try objects().count == 1)
  }

  @Test func `a writer that is killed loses at most the last entry`() throws {
    let line =
      #"{"v":1,"seq":1,"time":"2026-11-21T02:15:00.123456Z","mono_ns":8123,"event":"reachability","reason":"no_carrier","#
      + #""reachability":{"status":"not-reachable","medium":null,"interface":null,"index":null,"expensive":null,"#
      + #""vpn":null,"ipv4":null,"ipv6":null,"wifi":null},"activity":{"state":"inactive","visible":false,"in_flight":0}}"#
    var stored = 0
    for _ in 0..<min(FuzzRounds.count(default: 3), 1_000) {
      let writer = try ChildProcess([Programs.log, "write"], environment: [state])
      for _ in 0..<2 {
        writer.write(line + "\n")
        stored += 1
        _ = try changes(stored)
      }
      writer.write(line + "\n")
      usleep(UInt32.random(in: 0..<3_000))  // a random moment for the writer's end
      writer.signal(SIGKILL)
      _ = try writer.wait()
      let found = try objects().count
      #expect(found == stored || found == stored + 1)
      stored = found
    }
  }

  @Test func `a suspend before the writer's first look is stored`() throws {
    func line(_ seconds: Int, suspended: Int, _ status: String, _ reason: String) -> String {
      #"{"v":1,"seq":1,"time":"2026-11-21T02:15:0\#(seconds).000000Z","mono_ns":\#(seconds + 900)000000000,"#
        + #""event":"reachability","reason":"\#(reason)","reachability":{"status":"\#(status)","medium":null,"#
        + #""interface":null,"index":null,"expensive":null,"vpn":null,"ipv4":null,"ipv6":null,"wifi":null},"#
        + #""activity":{"state":"inactive","visible":false,"in_flight":0},"#
        + #""log":{"boot_ns":\#(seconds + 900 + suspended)000000000,"changes":1}}"# + "\n"
    }
    // By the times in these lines, the machine was suspended before the writer started, for longer than by the writer's
    // own clocks.
    let writer = try ChildProcess([Programs.log, "write"], environment: [state])
    writer.write(line(1, suspended: 1_000_000, "not-reachable", "no_carrier"))
    writer.write(line(2, suspended: 1_000_300, "not-reachable", "no_address"))
    writer.closeInput()
    _ = try writer.wait()
    #expect(try objects().map { $0["event"] as? String } == ["change", "suspend", "change"])
    #expect(try objects().compactMap { $0["event"] as? String == "suspend" ? $0["seconds"] as? Double : nil } == [300])
  }

  @Test func `a full disk is told once, and what has happened is stored when there is room`() throws {
    let namespace = try NetworkNamespace.online()
    let process = try ChildProcess(
      namespace.command([
        "unshare", "--mount", "sh", "-c",
        "mount -t tmpfs -o size=144k tmpfs \(folder.path) && exec \(Programs.netwatch) -f --json --log",
      ]), environment: [state])
    let follow = Follow(process)
    _ = try follow.next()
    var rounds = 0
    while !process.hasErrorLine, rounds < 500 {
      try Self.flap(namespace, follow)
      rounds += 1
    }
    #expect(
      try process.nextErrorLine()
        == "netwatch: no room is left for the log '\(file)'; the last 1024 changes wait until there is some")
    for _ in 0..<5 { try Self.flap(namespace, follow) }
    let user = NetworkNamespace.isRoot ? [] : ["--user", "--preserve-credentials"]
    let inside = ["nsenter", "--target", "\(process.pid)", "--mount"] + user + ["--"]
    let grown = try ChildProcess.run(inside + ["mount", "-o", "remount,size=8m", folder.path])
    #expect(grown.ending == .exited(0), "\(grown.error)")
    try Self.flap(namespace, follow)
    let expected = 1 + 2 * (rounds + 6)
    let command = inside + [Programs.netwatch, "log", "--json"]
    let stored = try eventually(ChildProcess.run(command, environment: [state]).output.count) { $0 >= expected }
    #expect(stored == expected)
    process.signal(SIGTERM)
    _ = try process.wait()
    #expect(try process.errorText() == "")
  }

  @Test func `a folder that cannot be made is told, and the stream goes on`() throws {
    let namespace = try NetworkNamespace.online()
    for (variables, said) in [
      (
        ["XDG_STATE_HOME=/proc/nothing"],
        "netwatch: cannot make the folder '/proc/nothing' for the log: No such file or directory"
      ),
      (["XDG_STATE_HOME=", "HOME="], "netwatch: there is no folder for the log; set HOME or XDG_STATE_HOME"),
    ] {
      let follow = try Follow(
        ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--log"]), environment: variables))
      _ = try follow.next()
      #expect(try follow.process.nextErrorLine() == said)
      try Self.flap(namespace, follow)
    }
  }

  @Test func `without a log, readers say how to make one and exit with 2`() throws {
    for command in [["log"], ["log", "--json"], ["report", folder.file("page.html")]] {
      let (ending, output, error) = try ChildProcess.run([Programs.netwatch] + command, environment: [state])
      #expect(ending == .exited(2))
      #expect(output == [])
      #expect(
        error
          == "netwatch: there is no log at '\(file)'; to keep one, run: systemctl --user enable --now netwatch-log "
          + "(or netwatch --follow --log)"
      )
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test(arguments: [
    ["log", "--since", "tomorrow"], ["log", "--since", "2026-02-30"], ["log", "--json", "--csv"], ["--json", "log"],
    ["log", "--traffic"], ["log", "--traffic", "year"], ["log", "--traffic", "day", "--outages"],
    ["log", "--interfaces"], ["--log"], ["-f", "--log", "--target", "192.0.2.1"], ["-f", "--log", "-i", "v0"],
    ["report"],
    ["status", "--log"],
  ])
  func `a mistake is one of usage`(arguments: [String]) throws {
    let (ending, output, error) = try ChildProcess.run([Programs.netwatch] + arguments, environment: [state])
    #expect(ending == .exited(64))
    #expect(output == [] && error.hasPrefix("Error: "))
  }

  @Test func `netwatch maps no SQLite`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace)
    _ = try follow.next()
    let writer = try Self.writer(of: follow.process)
    _ = try changes(1)
    func mapsSQLite(_ process: pid_t) throws -> Bool {
      try ChildProcess.run(["grep", "-c", "sqlite", "/proc/\(process)/maps"]).ending == .exited(0)
    }
    #expect(!(try mapsSQLite(follow.process.pid)))
    #expect(try mapsSQLite(writer))
  }
}
