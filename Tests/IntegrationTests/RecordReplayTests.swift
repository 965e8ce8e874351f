import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `--record` and `netwatch replay`: a replay prints the same lines, byte for byte, and reports a file that is no
/// trace.
@Suite struct RecordReplayTests {
  private let folder: TemporaryFolder
  private var trace: String { folder.file("trace") }

  init() throws { folder = try TemporaryFolder() }

  /// Runs `netwatch replay` without access to netlink, which a replay does not need.
  private func replay(_ arguments: String...) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
    let form = arguments.contains("--format") ? [] : ["--json"]
    return try ChildProcess.run([Programs.sandbox, "netlink", Programs.netwatch, "replay"] + form + arguments)
  }

  /// Ends the recording, and compares its lines with those of the replay.
  ///
  /// - Parameter isBusy: Whether the recording may end in the middle of a turn, because there is always something to
  ///   record.
  private func expectSame(_ follow: Follow, isBusy: Bool = false) throws {
    // A turn goes on after its line: the signal would end the recording in the middle of one.
    if !isBusy { try follow.process.waitUntilAsleep(forSeconds: 0.1) }
    follow.process.signal(SIGINT)
    try follow.readToEnd()
    #expect(try follow.process.wait() == .signalled(SIGINT))
    let replay = try replay(trace)
    if isBusy, replay.ending == .exited(2) {
      #expect(replay.error.contains("but the recording is not complete; everything up to there was played"))
    } else {
      #expect(replay.ending == .exited(0))
      #expect(replay.error == "")
    }
    let told = follow.lines.map(\.text)
    #expect(zip(replay.output, told).allSatisfy { $0 == $1 })
    let difference = replay.output.count - told.count
    #expect(isBusy ? abs(difference) <= 1 : difference == 0)
  }

  /// A recording in which a cable is pulled, after which nothing is reachable.
  static let cablePulled = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(
    path: "Traces/cable-pulled.trace")

  /// Another program may have written the file, so it may have any record at any place.
  @Test(arguments: ["quality 9000000000000000000 1 0", "quality 9000000000000000000 1 0\ntcp end"])
  func `a replay ends at a record that nothing responds to`(_ records: String) throws {
    var lines = try String(contentsOf: Self.cablePulled, encoding: .utf8).split(separator: "\n").flatMap { line in
      // A link begins to carry the path before the answers with the sequence numbers 7 and 26.
      let isSample = ["07000000", "1a000000"].contains(line.dropFirst(22).prefix(8)) && line.hasPrefix("reply ")
      return isSample ? ["quality 1 1 0", "tcp end", String(line)] : [String(line)]
    }
    lines.insert("set quality", at: 1)
    let last = 4_000_000_000_000_000_000
    lines.append(records.replacing("9000000000000000000", with: "\(last)"))
    try folder.write(lines.joined(separator: "\n") + "\n", to: "trace")
    let result = try replay(trace)
    #expect(result.ending == .exited(2))
    #expect(
      result.error.hasPrefix("netwatch: line \(lines.count) of '\(trace)' is 'quality \(last) 1 0', but something")
        && result.error.contains("must come next"), "\(result.error)")
  }

  // MARK: The same lines

  @Test func `a cable, an address, a new default and a VPN are told again as they were`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--record", trace)
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try follow.summary() == "not-reachable no_address -")
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.1.0.1/24 dev w0", "ip route add default via 10.1.0.2")
    #expect(try follow.summary() == "wifi route_up w0")
    let tunnel = try ChildProcess(namespace.command([Programs.probe, "tunnel", "tun0"]))
    #expect(try tunnel.nextLine() == "open")
    try namespace.run(
      "ip link set tun0 up", "ip addr add 10.8.0.2/24 dev tun0", "ip route add 0.0.0.0/1 via 10.8.0.1",
      "ip route add 128.0.0.0/1 via 10.8.0.1")
    #expect(try follow.summary() == "wifi vpn_up w0")
    tunnel.closeInput()
    #expect(try tunnel.wait() == .exited(0))
    #expect(try follow.summary() == "wifi vpn_down w0")
    #expect(try follow.isQuiet(in: namespace))
    try expectSame(follow)

    var status = stat()
    #expect(unsafe stat(trace, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    let text = try replay(trace, "--format", "text")
    #expect(text.output.count == follow.lines.count)
    #expect(text.output[1].contains("not reachable") && text.output[1].hasSuffix("no carrier"))
    let colored = try replay(trace, "--format", "text", "--color", "always")
    #expect(colored.output[0].contains("\u{1b}["))
  }

  @Test func `options that decide the lines are in the trace`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add d0 type veth peer name w1", "ip link set w1 up", "ip link set d0 up",
      "ip addr add 10.1.0.1/24 dev d0", "ip route add default via 10.1.0.2 metric 600")
    let options = [
      "--hold", "0.05", "--interfaces", "-i", "v*", "-i", "d?", "-i", "50 %", "--ignore", "v1", "--target",
      "198.51.100.7", "--expensive", "?0", "--not-expensive", "v*", "--count", "12",
    ]
    let follow = try Follow(
      ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--record", trace] + options)))
    var line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.isExpensive == false)
    try namespace.run("ip link set v1 down")
    line = try follow.next()
    while line.status == "wifi" { line = try follow.next() }
    #expect(line.summary == "not-reachable no_carrier -")
    try namespace.run("ip route add 198.51.100.0/24 via 10.1.0.2")
    while line.interface != "d0" { line = try follow.next() }
    #expect(line.isExpensive == true)
    while follow.lines.count < 12 {
      try namespace.run("ip addr add 10.7.7.\(follow.lines.count)/32 dev v0")
      _ = try follow.next()
    }
    #expect(try follow.process.wait() == .exited(0))
    let replay = try replay(trace)
    #expect(replay.ending == .exited(0))
    #expect(replay.output == follow.lines.map(\.text))
    #expect(replay.output.allSatisfy { $0.contains("\"interfaces\":[") })
  }

  @Test(arguments: [[], ["--interfaces"]])
  func `what links carry is told again, with every rate`(_ options: [String]) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let follow = try Follow(
      ChildProcess(
        namespace.command(
          [Programs.netwatch, "-f", "--json", "--record", trace, "--traffic", "--traffic-interval", "0.1"] + options)))
    func rate(over link: String) throws {
      var line = try follow.next()
      while line.traffic?.interface != link || line.traffic?.sentRate ?? 0 == 0 {
        try namespace.send(to: link == "v0" ? "10.0.0.2" : "10.1.0.2", over: link)
        line = try follow.next()
      }
    }
    try rate(over: "v0")
    try namespace.run("ip link set v0 down")
    try rate(over: "w0")
    try expectSame(follow, isBusy: true)
    let text = try replay(trace, "--format", "text")
    #expect(text.output.contains { $0.contains("↓") || $0.contains("v ") })
  }

  @Test func `what the network says, the answers of its portal and each uplink are told again`() throws {
    let portal = try PortalAPITests.Portal()
    let near = portal.networks.near
    try portal.answer(#"{"captive":true,"user-portal-url":"https://portal.example/login"}"#)
    let follow = try portal.follow("--record", trace, "--portal-api", "--cable", "--each")
    func read(until isWanted: (Line) -> Bool) throws { while try !isWanted(follow.next()) {} }
    func uplinks(_ line: Line) -> [String] {
      (line.object["uplinks"] as? [[String: Any]] ?? []).compactMap { $0["interface"] as? String }
    }
    try read { uplinks($0) == ["v0"] }
    try portal.advertise()
    try read { ($0.object["reachability"] as? [String: Any])?["captive_portal"] is [String: Any] }
    try near.configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "addr add 10.1.0.1/24 dev w0")
    try read { uplinks($0).contains("w0") }
    try near.run("ip link set w1 down")
    try read { line in line.reason == "uplink_changed" }
    try portal.networks.far.run("ip link set v1 down")
    try read { $0.status == "not-reachable" }
    try expectSame(follow)
    let told = try String(contentsOfFile: trace, encoding: .utf8)
    for kind in ["found", "news", "findings"] { #expect(told.contains("\n\(kind) "), "\(kind)") }
    // A template that shows the speed records the cable.
    let other = folder.file("other")
    let words = [Programs.netwatch, "-f", "--template", "{speed}", "--record", other, "--count", "1"]
    let templated = try ChildProcess(near.command(words))
    #expect(try templated.wait() == .exited(0))
    #expect(try String(contentsOfFile: other, encoding: .utf8).contains("\nset cable\n"))
    #expect(try replay(other).output.allSatisfy { $0.contains("\"link\":null") })
  }

  @Test func `a trace with samples that nobody asked for is refused`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--record", trace, "--traffic")
    #expect(try follow.summary() == "wifi initial v0")
    follow.process.signal(SIGINT)
    #expect(try follow.process.wait() == .signalled(SIGINT))
    let text = try String(contentsOfFile: trace, encoding: .utf8)
    try text.replacing("set traffic\n", with: "").replacing("set traffic-interval 1.0\n", with: "")
      .replacing(#/sampling .*\n(counters .*\n)+/#, with: "")
      .appending("sampling 1 2 0\n").write(toFile: trace, atomically: false, encoding: .utf8)
    let replay = try replay(trace)
    #expect(replay.ending == .exited(2))
    #expect(replay.error.contains("but something other than counters must come next"))
  }

  @Test func `lost messages are in the trace`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--record", trace)
    #expect(try follow.next().status == "wifi")
    follow.process.signal(SIGSTOP)
    try namespace.run(
      "for i in $(seq 4000); do echo addr add 10.9.$((i / 250)).$((i % 250 + 1))/32 dev v0; "
        + "echo addr del 10.9.$((i / 250)).$((i % 250 + 1))/32 dev v0; done | ip -batch -", "ip route del default")
    follow.process.signal(SIGCONT)
    #expect(try follow.next().status == "not-reachable")
    #expect(try follow.isQuiet(in: namespace))
    #expect(try String(contentsOfFile: trace, encoding: .utf8).contains("\nevent overrun\n"))
    try expectSame(follow)
  }

  /// The trace is in Tests/Traces, beside the script that recorded it and the lines that were printed then.
  @Test func `an old trace is told as it was then`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let name = folder.appending(path: "Traces/cable-pulled").path
    let lines = try String(contentsOfFile: "\(name).jsonl", encoding: .utf8)
    let replay = try replay("\(name).trace")
    #expect(replay.ending == .exited(0), "\(replay.error)")
    #expect(replay.output.map { $0 + "\n" }.joined() == lines)
    #expect(try replay.output.map { try Line($0).reason } == ["initial", "no_carrier", "route_up", "no_carrier"])
  }

  @Test func `a recording does not use a service`() throws {
    let service = try RunningService()
    let client = try service.client()
    client.send("{\"begin\":\"a\"}")
    while try client.next().inFlight != 1 {}
    let follow = try service.follow("--record", trace)
    #expect(try follow.next().inFlight == 0)
    try service.namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try expectSame(follow)
  }

  // MARK: Writing

  @Test func `a trace takes no other file's place`() throws {
    let namespace = try NetworkNamespace.online()
    try "mine".write(toFile: trace, atomically: false, encoding: .utf8)
    for path in [trace, folder.path] {
      let result = try ChildProcess.run(namespace.command([Programs.netwatch, "-f", "--record", path]))
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(
        result.error == "netwatch: '\(path)' exists already, and --record replaces no file; give a new name")
    }
    #expect(try String(contentsOfFile: trace, encoding: .utf8) == "mine")
  }

  @Test func `a full disk ends the recording`() throws {
    let namespace = try NetworkNamespace.online()
    let full = try ChildProcess.run(namespace.command([Programs.netwatch, "-f", "--record", "/dev/full"]))
    #expect(full.ending == .exited(2))
    #expect(full.output == [])
    #expect(full.error == "netwatch: cannot write '/dev/full': No space left on device")
    let nowhere = try ChildProcess.run(namespace.command([Programs.netwatch, "-f", "--record", "\(folder.path)/a/b"]))
    #expect(nowhere.ending == .exited(2))
    #expect(nowhere.error == "netwatch: cannot write '\(folder.path)/a/b': No such file or directory")
  }

  @Test func `whoever compresses the trace and goes ends the recording`() throws {
    let namespace = try NetworkNamespace.online()
    #expect(unsafe mkfifo(trace, 0o600) == 0)
    let reader = try ChildProcess(["head", "-n", "3", trace])
    let follow = try namespace.follow("--record", trace)
    #expect(try reader.nextLine() == "netwatch-trace 2")
    #expect(try reader.wait() == .exited(0))
    // The reader may have left before the first line is printed.
    try namespace.run("ip link set v1 down")
    #expect(try follow.process.wait() == .exited(2))
    #expect(try follow.process.errorText() == "netwatch: cannot write '\(trace)': Broken pipe")
  }

  // MARK: Reading

  @Test func `what is no trace is answered with a sentence`() throws {
    let empty = folder.file("empty")
    try "".write(toFile: empty, atomically: false, encoding: .utf8)
    let none = "is no recording; its first line would be 'netwatch-trace 2'"
    for (path, expected) in [
      (empty, "'\(empty)' \(none)"), ("/dev/null", "'/dev/null' \(none)"), ("/dev/zero", "'/dev/zero' \(none)"),
      (Programs.netwatch, "'\(Programs.netwatch)' \(none)"),
      (folder.path, "cannot read '\(folder.path)': Is a directory"),
      (trace, "cannot read '\(trace)': No such file or directory"),
    ] {
      let result = try replay(path)
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error == "netwatch: \(expected)")
    }
  }

  @Test func `a trace that was cut is told as far as it goes`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--record", trace)
    _ = try follow.next()
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    try expectSame(follow)
    let bytes = try Data(contentsOf: URL(filePath: trace))
    try bytes.dropLast(1).write(to: URL(filePath: trace))
    let count = bytes.count { $0 == UInt8(ascii: "\n") }
    let result = try replay(trace)
    #expect(result.ending == .exited(2))
    #expect(result.output == [follow.lines[0].text])
    #expect(
      result.error
        == "netwatch: line \(count) of '\(trace)' is the last one, but the recording is not complete; "
        + "everything up to there was played")
  }

  @Test(arguments: [
    ("set exec touch%20/tmp/x", "a setting that this netwatch does not know"), ("set help", "does not know"),
    ("set hold", "no sense"), ("set hold soon", "seconds"), ("set count 0", "1 or more"),
    ("set interfaces 7", "no sense"),
    ("set target 127.0.0.1", "this machine"),
  ])
  func `settings that make no sense are refused`(setting: String, hint: String) throws {
    try "netwatch-trace 2\n\(setting)\n".write(toFile: trace, atomically: false, encoding: .utf8)
    let result = try replay(trace)
    #expect(result.ending == .exited(2))
    #expect(result.error.hasPrefix("netwatch: '\(trace)' has") && result.error.contains(hint), "\(result.error)")
    #expect(!result.error.contains("\n"))
  }

  @Test func `the reader of a replay wants one line and goes`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let name = folder.appending(path: "Traces/cable-pulled.trace").path
    let result = try ChildProcess.run(
      ["bash", "-c", "\(Programs.netwatch) replay \(name) | head -1; echo ${PIPESTATUS[0]}"])
    #expect(result.output.count == 2 && result.output.last == "0" && result.error == "")
    let full = unsafe open("/dev/full", O_WRONLY)
    defer { close(full) }
    let child = try ChildProcess([Programs.netwatch, "replay", name], standardOutput: .descriptor(full))
    #expect(try child.wait() == .exited(2))
    #expect(try child.errorText() == "netwatch: cannot write to standard output: No space left on device")
  }

  @Test(arguments: [
    (["--record", "x"], "--follow"), (["replay"], "<file>"), (["replay", "x", "--hold", "2"], "--hold"),
    (["-f", "--record"], "--record"),
  ])
  func `a mistake is answered with what to do`(arguments: [String], hint: String) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.output == [])
    #expect(result.error.contains(hint), "\(result.error)")
  }
}
