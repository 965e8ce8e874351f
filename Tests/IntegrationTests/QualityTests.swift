import Foundation
import NetwatchTestSupport
import Testing

extension Line {
  var quality: LineQuality? { (object["quality"] as? [String: Any]).map { LineQuality($0) } }
}

/// The `quality` figures of a JSON line.
struct LineQuality: Equatable, CustomStringConvertible {
  let interface: String?
  let roundTrip: Double?
  let loss: Double?
  let connections: Int?

  init(_ object: [String: Any]) {
    interface = object["interface"] as? String
    roundTrip = object["rtt_ms"] as? Double
    loss = object["loss_percent"] as? Double
    connections = object["connections"] as? Int
  }

  var description: String {
    "\(roundTrip.map { "\($0)" } ?? "-") ms, \(loss.map { "\($0)" } ?? "-") % lost, \(connections ?? -1) connections"
  }
}

extension TwoNetworks {
  /// Starts a sink in `far` that reads what senders send.
  func sink() throws -> ChildProcess {
    let process = try ChildProcess(far.command([Programs.probe, "sink"]))
    guard try process.nextLine() == "ready" else { throw TestFailure("no sink: \(try process.errorText())") }
    return process
  }

  /// Starts `count` connections to the sink, each of which sends this many bytes a second.
  func senders(_ count: Int, bytesPerSecond rate: Int = 100_000, to host: String = "10.0.0.2") throws -> ChildProcess {
    let process = try start(Programs.probe, "senders", host, "\(count)", "\(rate)")
    guard try process.nextLine() == "ready" else { throw TestFailure("no senders: \(try process.errorText())") }
    return process
  }
}

/// `netwatch --follow --quality` over links without loss and delay. The tests in the guest have other links.
@Suite struct QualityTests {
  /// Returns the next line whose figures fulfil a condition. Fails if a line comes before that has no figures.
  private static func line(
    of follow: Follow, sequence: Int = 1, where isWanted: (LineQuality) -> Bool
  ) throws -> LineQuality {
    while true {
      let line = try follow.next()
      #expect((line.event, line.reason, line.sequence) == ("quality", "sampled", sequence))
      let quality = try #require(line.quality)
      #expect(quality.interface == "v0")
      if isWanted(quality) { return quality }
    }
  }

  private static func isKnown(_ quality: LineQuality) -> Bool { quality.roundTrip != nil && quality.loss != nil }

  @Test func `only connections that leave from the link's addresses count, and two are too few`() throws {
    let networks = try TwoNetworks()
    let sink = try networks.sink()
    try networks.near.run(
      "ip link add w0 type veth peer name w1 netns \(networks.far.pid)", "ip addr add 10.1.0.1/24 dev w0",
      "ip link set w0 up")
    try networks.far.run("ip addr add 10.1.0.2/24 dev w1", "ip link set w1 up")
    try networks.near.waitUntilRunning("w0")
    // These connections leave over another link, or stay within the machine.
    let elsewhere = try networks.senders(5, to: "10.1.0.2")
    let server = try ChildProcess(networks.near.command([Programs.probe, "sink"]))
    _ = try server.nextLine()
    let within = try networks.senders(5, to: "10.0.0.1")
    let quiet = try networks.near.follow("--no-service")
    let follow = try networks.near.follow("--no-service", "--quality")
    let first = try follow.next()
    #expect(first.event == "initial")
    #expect(first.quality?.connections == 0)
    #expect(try Self.line(of: follow) { _ in true }.connections == 0)
    var senders = [try networks.senders(2)]
    // Connections of both families count for a link.
    senders.append(try networks.senders(3, to: "fd00::2"))
    let known = try Self.line(of: follow, where: Self.isKnown)
    #expect(known.connections == 5)
    #expect(known.roundTrip ?? 99 < 20)
    #expect(known.loss ?? 99 < 1)
    for sender in senders { sender.signal(SIGKILL) }
    // Figures are kept for half a minute after the connections have ended, but not when the path changes.
    try networks.near.run(
      "ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    var line = try follow.next()
    while line.event == "quality" { line = try follow.next() }
    #expect(line.reason == "address_changed")
    #expect(line.quality?.connections == 0)
    #expect(try Self.line(of: follow, sequence: 2) { _ in true }.roundTrip == nil)
    #expect(try quiet.next().quality == nil)
    #expect(try quiet.next().reason == "address_changed")
    #expect(!quiet.lines.contains { $0.object.keys.contains("quality") })
    withExtendedLifetime((sink, elsewhere, server, within)) {}
  }

  @Test func `a service looks for all who ask, and for nobody else`() throws {
    let networks = try TwoNetworks()
    let sink = try networks.sink()
    let service = try RunningService(in: networks.near)
    let quiet = try service.client()
    #expect(try quiet.next().event == "initial")
    let senders = try networks.senders(5)
    #expect(try senders.nextLine() == "sent")
    let clients = try (0..<2).map { _ in
      let client = try service.client()
      #expect(try client.next().event == "initial")
      client.send(#"{"quality":true}"#)
      return client
    }
    for client in clients {
      let line = try client.next()
      #expect((line.event, line.reason, line.sequence) == ("quality", "sampled", 1))
      #expect(line.quality?.interface == "v0")
      #expect(line.quality?.connections == 5)
      #expect(line.quality?.roundTrip != nil)
    }
    let follow = try service.follow("--quality")
    #expect(try follow.next().quality?.connections == 5)
    let known = try Self.line(of: follow, where: Self.isKnown)
    #expect(known.connections == 5)
    // On another path, nothing is known at the next sample. Only clients that asked for the quality get the line.
    try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    for client in clients {
      let path = try client.next()
      #expect((path.event, path.sequence) == ("reachability", 2))
      #expect(!path.object.keys.contains("quality"))
      let line = try client.next()
      #expect((line.event, line.sequence) == ("quality", 2))
      #expect(line.quality?.connections == 0)
    }
    #expect(try quiet.next().event == "reachability")
    var line = try follow.next()
    while line.event == "quality" { line = try follow.next() }
    #expect(line.sequence == 2)
    #expect(line.object["quality"] is NSNull)
    #expect(try Self.line(of: follow, sequence: 2) { _ in true }.roundTrip == nil)
    for client in clients { client.send(#"{"quality":false}"#) }
    // The service is killed. The follower then samples by itself, and prints the figures at the next tick.
    try service.kill()
    #expect(try Self.line(of: follow, sequence: 2, where: Self.isKnown).connections == 5)
    #expect(throws: (any Error).self) { try quiet.next() }
    withExtendedLifetime((sink, senders)) {}
  }

  @Test func `nobody is woken unless somebody asks`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    for wish in [#"{"quality":true}"#, #"{"quality":false}"#] { client.send(wish) }
    #expect(try client.next().event == "quality")
    try client.ping()
    let follow = try service.namespace.follow("--no-service", "-v")
    _ = try follow.next()
    for process in [service.process, follow.process] { try process.waitUntilIdle() }
  }

  @Test(arguments: ["1", "null", "\"on\"", "[true]"])
  func `a wish that is none is refused`(_ text: String) throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    client.send("{\"quality\":\(text)}")
    #expect(try client.error() == "\\\"quality\\\" is true or false")
  }

  @Test func `a recording gives the same lines again, and has no address of a connection`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let trace = folder.file("trace")
    let sink = try networks.sink()
    let senders = try networks.senders(4, to: "fd00::2")
    let follow = try networks.near.follow("--no-service", "--quality", "--record", trace)
    #expect(try follow.next().event == "initial")
    _ = try Self.line(of: follow, where: Self.isKnown)
    try networks.near.run("ip link set v0 down")
    var line = try follow.next()
    while line.event == "quality" { line = try follow.next() }
    #expect(line.status == "not-reachable")
    #expect(line.object["quality"] is NSNull)
    follow.process.signal(SIGTERM)
    let told = follow.lines.map(\.text)
    let replayed = try ChildProcess.run([Programs.netwatch, "replay", "--json", trace])
    #expect(replayed.output == told, "\(replayed.error)")
    let text = try String(contentsOfFile: trace, encoding: .utf8)
    let connections = text.split(separator: "\n").filter { $0.hasPrefix("tcp ") && !$0.hasSuffix(" end") }
    #expect(connections.count >= 8)
    #expect(connections.allSatisfy { $0.wholeMatch(of: /tcp( [0-9]+){7}/) != nil })
    // Without `--quality`, a trace has no such line. A trace that has such lines without the setting is not replayed.
    try text.replacing("set quality\n", with: "").write(toFile: folder.file("cut"), atomically: true, encoding: .utf8)
    let refused = try ChildProcess.run([Programs.netwatch, "replay", "--json", folder.file("cut")])
    #expect(refused.ending == .exited(2))
    withExtendedLifetime((sink, senders)) {}
  }

  @Test func `status looks once, in each of its forms`() throws {
    let networks = try TwoNetworks()
    let sink = try networks.sink()
    let senders = try networks.senders(3)
    #expect(try senders.nextLine() == "sent")
    func output(_ arguments: String...) throws -> String {
      let answer = try ChildProcess.run(networks.near.command([Programs.netwatch] + arguments + ["--no-service"]))
      #expect(answer.ending == .exited(0), "\(answer.error)")
      return answer.output.joined(separator: "\n")
    }
    for arguments in [["--quality", "--json"], ["status", "--quality", "--json"]] {
      let line = try Line(output(arguments[0], arguments[1], arguments.last ?? ""))
      #expect(line.quality?.connections == 3)
      #expect(Self.isKnown(try #require(line.quality)))
    }
    #expect(try Line(output("status", "--json")).object["quality"] == nil)
    #expect(try output("status", "-v", "--format", "text").contains(#/[0-9.]+ ms, [0-9.]+ % lost/#))
    #expect(try !output("status", "--format", "text").contains("lost"))
    let metrics = try output("status", "--prometheus")
    #expect(
      metrics.contains(#/\n# TYPE netwatch_round_trip_seconds gauge\nnetwatch_round_trip_seconds [0-9][0-9.e-]*\n/#))
    #expect(metrics.contains(#/\n# TYPE netwatch_loss_ratio gauge\nnetwatch_loss_ratio [0-9][0-9.e-]*/#))
    let bar = try output("--format", "polybar", "--template", "{interface} {rtt} {loss}", "--color", "never")
    #expect(bar.contains(#/v0\s+[0-9.]+ms\s+[0-9.]+%/#))
    withExtendedLifetime(sink) {}
  }

  @Test func `a template and text show it`() throws {
    let networks = try TwoNetworks()
    let sink = try networks.sink()
    let bar = try networks.near.netwatch(
      "-f", "--no-service", "--format", "polybar", "--template", "{interface}{ rtt}{ loss}", "--color", "never")
    #expect(try bar.nextLine() == "v0 \u{2007}\u{2007}\u{2007}-ms \u{2007}\u{2007}-%")
    let text = try networks.near.netwatch("-f", "--no-service", "--format", "text", "--quality")
    #expect(try text.nextLine()?.contains("lost") == false)
    #expect(try text.nextLine()?.contains("quality unknown") == true)
    let once = try networks.near.netwatch("status", "--no-service", "--format", "text", "--quality")
    #expect(try once.nextLine()?.contains("quality unknown") == true)
    let senders = try networks.senders(5)
    var line = try bar.nextLine()
    while let shown = line, shown.wholeMatch(of: #/v0\s+[0-9.]+ms\s+[0-9.]+%/#) == nil { line = try bar.nextLine() }
    #expect(line != nil)
    line = try text.nextLine()
    while let shown = line, !shown.contains(#/[0-9:]{8} +[0-9.]+ ms, [0-9.]+ % lost +v0/#) {
      line = try text.nextLine()
    }
    #expect(line != nil)
    withExtendedLifetime((sink, senders)) {}
  }

  @Test(arguments: [
    (["top", "--quality"], "top does nothing with --quality; leave it out."),
    (["explain", "--quality"], "explain does nothing with --quality; leave it out."),
    (["status", "--prometheus", "--quality"], "--prometheus is a format of its own; leave out --quality."),
  ])
  func `a mistake gets a sentence`(_ arguments: [String], _ sentence: String) throws {
    let answer = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(answer.ending == .exited(64))
    #expect(answer.error.contains(sentence), "\(answer.error)")
  }
}
