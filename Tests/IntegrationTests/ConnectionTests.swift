import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `--activity tcp` with programs that know nothing of netwatch. contrib/bench/sockets measures how exact the
/// times are.
@Suite struct ConnectionTests {
  /// Returns the lines up to the one that shows the indicator, or to the one that hides it.
  private static func lines(_ follow: Follow, untilVisible: Bool) throws -> [Line] {
    var lines: [Line] = []
    repeat { lines.append(try follow.next()) } while lines.last?.isVisible != untilVisible
    return lines
  }

  /// Returns the milliseconds from `moment` to the time of the line.
  private static func delay(_ line: Line?, since moment: Int) -> Int {
    ((line?.monotonicNanoseconds ?? 0) - moment) / 1_000_000
  }

  // MARK: Requests

  @Test(arguments: [
    ["curl", "-s", "http://10.0.0.2/wait/go"], ["wget", "-qO-", "http://[fd00::2]/wait/go"],
    ["curl", "-s", "http://[::ffff:10.0.0.2]/drip/go"],
  ])
  func `a request shows after a second, and hides with its end`(command: [String]) throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp")
    #expect(try follow.next().inFlight == 0)
    let begun = Line.monotonicNow
    let program = try ChildProcess(networks.near.command(command))
    _ = try server.next("asked")
    let shown = try Self.lines(follow, untilVisible: true)
    #expect(shown.last?.tcpInFlight == 1 && shown.last?.requestsInFlight == 0)
    // The indicator is shown while the request runs, a second after the request has begun.
    #expect(Self.delay(shown.last, since: begun) >= 970)
    server.answer()
    let answered = try server.next("answered")
    let hidden = try Self.lines(follow, untilVisible: false)
    // The end of the request hides the indicator, not the end of `--activity-patience`.
    #expect(0..<20_000 ~= Self.delay(hidden.last, since: answered))
    #expect(try program.wait() == .exited(0))
    #expect((shown + hidden).map { $0.inFlight ?? -1 } == [1, 1, 0, 0])
  }

  @Test func `a connection that closes hides the indicator without another look`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let clients = try networks.clients(1, of: "/wait/3600000")
    _ = try server.next("asked")
    // netwatch looks at the connections at its start, and when the indicator decides. The next look is far away.
    let follow = try networks.near.follow("--activity", "tcp", "--activity-interval", "50")
    _ = try Self.lines(follow, untilVisible: true)
    let closed = Line.monotonicNow
    clients.signal(SIGKILL)
    let hidden = try Self.lines(follow, untilVisible: false)
    #expect(hidden.map { $0.inFlight ?? -1 } == [0, 0])
    #expect(170..<20_000 ~= Self.delay(hidden.last, since: closed))
  }

  @Test func `a train of short connections stays shown between two looks`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp")
    _ = try follow.next()
    let url = "http://10.0.0.2/wait"
    // On a busy machine a train may pause, or be seen too late. If so, there is another one.
    func isSteady() throws -> Bool {
      let train = try networks.start(
        "sh", "-c", "curl -s \(url)/go; while curl -s \(url)/20; do sleep 0.05; done")
      _ = try server.next("asked")
      _ = try Self.lines(follow, untilVisible: true)
      server.answer()
      for _ in 0..<15 { _ = try server.next("asked") }
      let count = follow.lines.count
      while follow.process.hasLine { _ = try follow.next() }
      let isSteady = follow.lines[count...].allSatisfy { $0.isVisible == true }
      train.signal(SIGTERM)
      _ = try train.wait()
      if follow.lines.last?.isVisible != false { _ = try Self.lines(follow, untilVisible: false) }
      return isSteady
    }
    try eventually(isSteady(), within: 50) { $0 }
  }

  @Test func `a short request never shows, a train of them does, one at a time`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp")
    _ = try follow.next()
    // On a busy machine a request may take a second. If so, there is another one.
    var begun = 0
    func shows() throws -> Bool {
      let count = follow.lines.count
      begun = Line.monotonicNow
      #expect(try networks.start("curl", "-s", "http://10.0.0.2/wait/300").wait() == .exited(0))
      for what in ["asked", "answered"] { _ = try server.next(what) }
      #expect(try follow.isQuiet(in: networks.near, butFor: "activity"))
      if follow.lines.last?.isVisible == true { _ = try Self.lines(follow, untilVisible: false) }
      while follow.lines.last?.inFlight != 0 { _ = try follow.next() }
      return follow.lines[count...].contains { $0.isVisible == true }
    }
    try eventually(shows()) { !$0 }
    // On a busy machine there may be a pause between two requests, and the indicator may decide in it. So the train is
    // long.
    let train = try networks.start("sh", "-c", "while curl -s http://10.0.0.2/wait/300; do :; done")
    let shown = try Self.lines(follow, untilVisible: true)
    #expect(Self.delay(shown.last, since: begun) >= 970)
    train.signal(SIGTERM)
    _ = try train.wait()
    let hidden = try Self.lines(follow, untilVisible: false)
    #expect((shown + hidden).allSatisfy { $0.inFlight ?? 2 <= 1 })
  }

  @Test func `fifty requests on one connection count one at a time`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp")
    _ = try follow.next()
    let begun = Line.monotonicNow
    let program = try networks.start("curl", "-s", "http://10.0.0.2/wait/[50-99]")
    let shown = try Self.lines(follow, untilVisible: true)
    #expect(Self.delay(shown.last, since: begun) >= 970)
    let hidden = try Self.lines(follow, untilVisible: false)
    #expect(try program.wait() == .exited(0))
    #expect((shown + hidden).map { $0.inFlight ?? -1 } == [1, 1, 0, 0])
    withExtendedLifetime(server) {}
  }

  @Test func `a throttled download of nginx is one request`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    // The download takes at least three seconds.
    try Data(count: 30_000).write(to: URL(filePath: folder.file("data")))
    let server = try networks.nginx(folder, bytesPerSecond: 10_000)
    let follow = try networks.near.follow("--activity", "tcp")
    _ = try follow.next()
    // On a busy machine nginx may pause long enough for the download to seem over. If so, it is repeated.
    func counts() throws -> [Int] {
      let program = try networks.start("curl", "-so", "/dev/null", "http://10.0.0.2:8080/data")
      let count = follow.lines.count
      _ = try Self.lines(follow, untilVisible: true)
      #expect(try program.wait() == .exited(0))
      repeat { _ = try Self.lines(follow, untilVisible: false) } while follow.lines.last?.inFlight != 0
      return follow.lines[count...].map { $0.inFlight ?? -1 }
    }
    try eventually(counts()) { $0 == [1, 1, 0, 0] }
    withExtendedLifetime(server) {}
  }

  // MARK: Traffic that is no request

  @Test func `what stays open, pings and polls is no request for long`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    // The connections of `kept` stay open after the answer, and so does the WebSocket. The client `poll` waits for its
    // answer.
    let kept = try networks.clients(3, of: "/wait/20")
    let socket = try networks.clients(1, of: "/socket/1300", host: "fd00::2")
    let poll = try networks.clients(1, of: "/wait/3600000")
    let follow = try networks.near.follow("--activity", "tcp", "--activity-patience", "2")
    var line = try follow.next()
    #expect(line.inFlight ?? 0 >= 1)
    while line.inFlight != 0 || line.isVisible != false { line = try follow.next() }
    // After two pings the indicator has still not been shown.
    for _ in 0..<2 { _ = try server.next("pong") }
    #expect(try follow.isQuiet(in: networks.near))
    withExtendedLifetime((kept, socket, poll)) {}
  }

  @Test func `a long poll counts until the patience is over`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp", "--activity-patience", "3")
    _ = try follow.next()
    let begun = Line.monotonicNow
    let poll = try networks.clients(1, of: "/wait/go")
    _ = try server.next("asked")
    #expect(Self.delay(try Self.lines(follow, untilVisible: true).last, since: begun) >= 970)
    let ended = try follow.next()
    #expect(ended.inFlight == 0)
    #expect(Self.delay(ended, since: begun) >= 2_900)
    withExtendedLifetime(poll) {}
  }

  @Test func `a shell on another machine is no request, at either end`() throws {
    // Only root can run a server of shells.
    guard geteuid() == 0 else { return }
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let (host, key) = (folder.file("host"), folder.file("key"))
    try networks.far.run("dropbearkey -t ed25519 -f \(host)", "ssh-keygen -qt ed25519 -N '' -f \(key)")
    // dropbear looks for keys in the home folder, which belongs to the user who runs the tests. A tmpfs hides that
    // folder.
    let script = """
      mount -t tmpfs -o mode=700 none ~ && mkdir -m 700 ~/.ssh && cp \(key).pub ~/.ssh/authorized_keys &&
      exec dropbear -FEsr \(host) -p 10.0.0.2:2222 -P ''
      """
    let server = try ChildProcess(networks.far.command(["unshare", "--mount", "sh", "-c", script]))
    try networks.far.run("until ss -Hltn | grep -q :2222; do sleep 0.02; done")
    let shell = try networks.start(
      "ssh", "-tt", "-p", "2222", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no", "-o",
      "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "root@10.0.0.2", "echo ready; exec cat")
    #expect(try shell.nextLine()?.hasPrefix("ready") == true)
    let near = try networks.near.follow("--activity", "tcp")
    let far = try networks.far.follow("--activity", "tcp", "--target", "10.0.0.1")
    for follow in [near, far] {
      var line = try follow.next()
      while line.inFlight != 0 || line.isVisible != false { line = try follow.next() }
    }
    // On a busy machine an echo may take as long as an answer. If so, the typing is repeated.
    func shows() throws -> [Line] {
      let counts = [near, far].map(\.lines.count)
      try Self.type(on: shell)
      var shown: [Line] = []
      for (follow, count) in zip([near, far], counts) {
        while follow.process.hasLine { _ = try follow.next() }
        shown += follow.lines[count...].filter { $0.isVisible == true }
        if follow.lines.last?.isVisible == true { _ = try Self.lines(follow, untilVisible: false) }
      }
      return shown
    }
    try eventually(shows()) { $0.isEmpty }
    withExtendedLifetime(server) {}
  }

  /// Types like a person, for longer than a request must last before the indicator is shown.
  private static func type(on shell: ChildProcess) throws {
    for key in 0..<9 {
      shell.write("\(key)\n")
      // Each line comes twice: as the terminal's echo and as the output of `cat`.
      for _ in 0..<2 { _ = try shell.nextLine() }
      usleep(200_000)  // the time that a person takes
    }
  }

  @Test func `connections that --activity-ignore names do not count`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let ignoring = try ["80", "10.0.0.0/8", "10.0.0.2", "curl"].map {
      try networks.near.follow("--activity", "tcp", "--activity-ignore", "1", "--activity-ignore", $0)
    }
    let other = try networks.near.follow(
      "--activity", "tcp", "--activity-ignore", "wget", "--activity-ignore", "fd00::/8")
    for follow in ignoring + [other] { #expect(try follow.next().inFlight == 0) }
    let program = try networks.start("curl", "-s", "http://10.0.0.2/wait/go")
    #expect(try Self.lines(other, untilVisible: true).last?.inFlight == 1)
    #expect(try Follow.areQuiet(ignoring, in: networks.near))
    server.answer()
    #expect(try program.wait() == .exited(0))
  }

  // MARK: Users and permissions

  @Test func `an ordinary user counts too, and learns no names of others' programs`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let folder = try TemporaryFolder()
    let clients = try networks.clients(2, of: "/wait/3600000")
    _ = try server.next("asked")
    let nobody = try networks.near.followAsNobody(
      from: folder, "--activity", "tcp", "--activity-patience", "3600", "--programs")
    let line = try nobody.next()
    #expect(line.tcpInFlight == 2)
    if geteuid() == 0 { #expect(line.programs == [:]) }
    let own = try networks.near.follow("--activity", "tcp", "--activity-patience", "3600", "--programs")
    while try own.next().programs != ["NetwatchProbe": 2] {}
    // A line names no programs unless somebody asks for them.
    let plain = try networks.near.follow("--activity", "tcp", "--activity-patience", "3600", "-v")
    #expect(try plain.next().programs == nil)
    let text = try ChildProcess.run(
      networks.near.command([
        Programs.netwatch, "status", "--activity", "tcp", "--activity-patience", "3600", "--format", "text",
      ]))
    #expect(text.output.first?.contains("2 in flight: NetwatchProbe 2") == true, "\(text.output)")
    withExtendedLifetime(clients) {}
  }

  @Test func `without sock_diag there is one warning, and all else works`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try Follow(
      ChildProcess(
        namespace.command([
          Programs.sandbox, "sockdiag", Programs.netwatch, "--follow", "--json", "--activity", "all", "--programs",
        ])))
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0" && line.inFlight == 0 && line.tcpInFlight == nil)
    let warning = try follow.process.nextErrorLine() ?? ""
    #expect(
      warning.hasPrefix("netwatch: TCP connections are not counted, all else works: netlink is not permitted here"))
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    follow.process.signal(SIGTERM)
    #expect(try follow.process.errorText() == "")
  }

  @Test func `500 connections at once count, and no longer after their end`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let follow = try networks.near.follow("--activity", "tcp")
    #expect(try follow.next().inFlight == 0)
    let clients = try networks.clients(500, of: "/wait/3600000")
    var line = try follow.next()
    while line.inFlight != 500 { line = try follow.next() }
    clients.signal(SIGKILL)
    while line.inFlight != 0 { line = try follow.next() }
    withExtendedLifetime(server) {}
  }

  // MARK: The service

  @Test func `a service counts both, looks only while somebody watches, and all show the same`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let service = try RunningService("--activity", "all", "--activity-patience", "3600", in: networks.near)
    let lease = try service.client()
    _ = try lease.next()
    lease.send("{\"events\":false}\n{\"begin\":\"a\"}")
    try lease.ping()
    let clients = try networks.clients(1, of: "/wait/3600000")
    _ = try server.next("asked")
    // Nobody watches. When the indicator has been shown and the link has its addresses, nothing wakes the service.
    // Looks at the connections would.
    try service.process.waitUntilIdle()
    // A follower that starts now gets the present state.
    let follows = try (0..<2).map { _ in try service.follow() }
    for follow in follows {
      let line = try follow.next()
      #expect((line.requestsInFlight, line.tcpInFlight, line.inFlight, line.isVisible) == (1, 1, 2, true))
    }
    // The options of the service decide what is counted, also for a client that asks for less.
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--programs"]), environment: service.environment)
    let line = try Line(status.output.first ?? "")
    #expect(line.tcpInFlight == 1 && line.programs == ["NetwatchProbe": 1])
    let metrics = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--prometheus"]), environment: service.environment)
    for sample in [
      "netwatch_in_flight 2", "# TYPE netwatch_in_flight_requests gauge",
      "netwatch_in_flight_requests{kind=\"requests\"} 1", "netwatch_in_flight_requests{kind=\"tcp\"} 1",
    ] { #expect(metrics.output.contains(sample), "\(sample)") }
    clients.signal(SIGKILL)
    for follow in follows { #expect(try follow.next().tcpInFlight == 0) }
    lease.close()
    for follow in follows { #expect(try Self.lines(follow, untilVisible: false).last?.inFlight == 0) }
  }

  @Test func `a follower counts by itself where no service does`() throws {
    let networks = try TwoNetworks()
    let server = try networks.slowServer()
    let service = try RunningService(in: networks.near)
    let follow = try service.follow("--activity", "tcp", "--activity-patience", "3600")
    #expect(try follow.next().tcpInFlight == nil)
    let hint = "the service does not count TCP connections; start it with --activity tcp, or add --no-service here"
    #expect(try follow.process.nextErrorLine() == "netwatch: \(hint)")
    let clients = try networks.clients(1, of: "/wait/3600000")
    _ = try server.next("asked")
    try service.kill()
    var line = try follow.next()
    while line.isVisible != true { line = try follow.next() }
    #expect(line.tcpInFlight == 1)
    try service.restart()
    while line.tcpInFlight != nil || line.isVisible != false { line = try follow.next() }
    #expect(line.inFlight == 0)
    withExtendedLifetime(clients) {}
  }

  // MARK: Mistakes

  @Test(arguments: [
    (["--activity", "quic"], "such as tcp,udp"), (["--activity", "tcp,udp"], "use netwatch -f"),
    (["status", "--activity", "udp"], "use netwatch -f"),
    (["--activity", "tcp", "--activity-ignore", "70000"], "1 to 65535"),
    (["--activity", "tcp", "--activity-ignore", "10.0.0.0/40"], "0 to 32"),
    (["--activity-ignore", "22"], "add --activity tcp"), (["--activity-interval", "1"], "add --activity tcp"),
    (["--activity", "tcp", "--activity-interval", "0"], "0.02"),
    (["--activity", "tcp", "--activity-patience", "0"], "above 0"),
    (["--activity", "tcp", "--follow", "--record", "/dev/null/x"], "leave out --activity"),
  ])
  func `a mistake is told in a sentence that helps`(arguments: [String], help: String) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.error.split(separator: "\n").first?.contains(help) == true, "\(result.error)")
  }
}
