import Foundation
import Glibc
import Testing

/// `--probe`: whether the internet is there, asked of a server of the user's.
@Suite struct ProbeTests {
  private static let url = "http://10.0.0.2/probe"

  private func follow(_ networks: TwoNetworks, _ options: String...) throws -> Follow {
    try Follow(
      ChildProcess(networks.near.command([Programs.netwatch, "-f", "--json", "--probe", Self.url] + options)))
  }

  @Test func `the first line is there at once, and the answer is a line of its own`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let follow = try follow(networks)
    let first = try follow.next()
    #expect(first.summary == "wifi initial v0")
    #expect(first.internet == "unknown")
    let second = try follow.next()
    #expect(second.summary == "wifi internet_changed v0")
    #expect(second.event == "reachability")
    #expect(second.internet == "full")
    #expect(second.sequence == 2)
    let head = try server.nextRequest().split(separator: "|").map(String.init)
    #expect(head.first == "GET /probe HTTP/1.1")
    #expect(head.contains("Cache-Control: no-cache"))
    #expect(head.contains("Connection: close"))
    #expect(head.contains { $0.hasPrefix("User-Agent: netwatch/") })
    #expect(!head.contains { $0.hasPrefix("Cookie") })
  }

  struct Case: Sendable, CustomTestStringConvertible {
    let answer: String
    var expectation: String?
    let internet: String
    var testDescription: String { "\(answer) where \(expectation ?? "nothing") is expected: \(internet)" }
  }

  @Test(arguments: [
    Case(answer: "204", internet: "full"), Case(answer: "200 ", internet: "full"),
    Case(answer: "302", internet: "portal"), Case(answer: "307", internet: "portal"),
    Case(answer: "200 <html>Please log in</html>", internet: "portal"), Case(answer: "511", internet: "portal"),
    Case(answer: "404 not here", internet: "unknown"), Case(answer: "503", internet: "unknown"),
    Case(answer: "close", internet: "none"), Case(answer: "raw hello", internet: "unknown"),
    Case(answer: "200 success and more", expectation: "success", internet: "full"),
    Case(answer: "200 succ", expectation: "success", internet: "portal"),
    Case(answer: "200 <html>success", expectation: "success", internet: "portal"),
    Case(answer: "204", expectation: "success", internet: "unknown"),
  ])
  func `what an answer says of the internet`(_ given: Case) throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: given.answer)
    let options = given.expectation.map { ["--probe-expect", $0] } ?? []
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", Self.url] + options))
    #expect(status.ending == .exited(0))
    #expect(status.error == "")
    let line = try Line(#require(status.output.first))
    #expect(line.internet == given.internet)
    #expect(line.summary == "wifi initial v0")
    #expect(status.output.count == 1)
    withExtendedLifetime(server) {}
  }

  // MARK: What does not answer

  @Test func `who never answers is no internet, when the time is up`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try follow(networks, "--probe-timeout", "0.5")
    #expect(try follow.next().internet == "unknown")
    try server.nextRequest()
    let line = try follow.next()
    #expect(line.summary == "wifi internet_changed v0")
    #expect(line.internet == "none")
    try server.clientLeaves()
  }

  @Test func `where nobody listens there is no internet`() throws {
    let networks = try TwoNetworks()
    // Whoever is to look up the name does not answer either.
    for url in ["http://10.0.0.2:81/", "https://10.0.0.2:81/", "http://no-such-host.invalid/"] {
      let status = try ChildProcess.run(
        networks.near.command([Programs.netwatch, "status", "--json", "--probe", url, "--probe-timeout", "1"]))
      #expect(try Line(#require(status.output.first)).internet == "none", "\(url)")
    }
  }

  @Test func `a server that another link leads to is no internet of this one`() throws {
    let networks = try TwoNetworks()
    let other = try NetworkNamespace(beside: networks.near)
    try networks.near.run("ip link add w0 type veth peer name w1 netns \(other.pid)")
    try other.run("ip addr add 10.1.0.2/24 dev w1", "ip link set w1 up")
    try networks.near.run("ip addr add 10.1.0.1/24 dev w0", "ip link set w0 up")
    try networks.near.waitUntilRunning("w0")
    let server = try AnswerServer(in: other)
    let url = "http://10.1.0.2/"
    // Without a link of its own, a program gets there.
    let free = try ChildProcess.run(networks.near.command([Programs.httpHelper, "probe", url]))
    #expect(free.output == ["full (status 204)"])
    try server.nextRequest()
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", url, "--probe-timeout", "1"]))
    let line = try Line(#require(status.output.first))
    #expect(line.interface == "v0")
    #expect(line.internet == "none")
    // Where that link carries the traffic it is there.
    try networks.near.run("ip route add default via 10.1.0.2 metric 5000")
    let chosen = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "-i", "w0", "--probe", url]))
    let second = try Line(#require(chosen.output.first))
    #expect(second.interface == "w0")
    #expect(second.internet == "full")
  }

  @Test func `a VPN is what the probe goes through`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let tunnel = try networks.near.addTunnel("tun0")
    try networks.near.run("ip route add 0.0.0.0/1 dev tun0", "ip route add 128.0.0.0/1 dev tun0")
    let arguments = [Programs.netwatch, "status", "--json", "--probe", Self.url, "--probe-timeout", "1"]
    let status = try ChildProcess.run(networks.near.command(arguments))
    let line = try Line(#require(status.output.first))
    #expect(line.interface == "v0")
    #expect(line.vpn?["interface"] as? String == "tun0")
    // Beneath the tunnel there is a server that answers.
    #expect(line.internet == "none")
    withExtendedLifetime((server, tunnel)) {}
  }

  @Test func `a proxy of the environment is not asked`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", Self.url]),
      environment: ["http_proxy=http://10.0.0.2:81", "all_proxy=http://10.0.0.2:81"])
    #expect(try Line(#require(status.output.first)).internet == "full")
    withExtendedLifetime(server) {}
  }

  @Test func `another's certificate, or no TLS, is a portal; a connection that is cut is none`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let (key, certificate) = (folder.file("key.pem"), folder.file("certificate.pem"))
    let made = try ChildProcess.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
      "/CN=10.0.0.2",
      "-addext", "subjectAltName=IP:10.0.0.2", "-keyout", key, "-out", certificate,
    ])
    #expect(made.ending == .exited(0), "\(made.error)")
    let tls = try ChildProcess(
      networks.far.command(["openssl", "s_server", "-accept", "443", "-www", "-key", key, "-cert", certificate]))
    try networks.far.run("until ss -Hltn | grep -q :443; do sleep 0.02; done")
    let plain = try AnswerServer(in: networks.far, answering: "raw HTTP/1.1 302 Found")
    func internet(_ url: String) throws -> String? {
      let status = try ChildProcess.run(networks.near.command([Programs.netwatch, "--json", "--probe", url]))
      return try Line(#require(status.output.first)).internet
    }
    #expect(try internet("https://10.0.0.2/") == "portal")
    #expect(try internet("https://10.0.0.2:80/") == "portal")
    for end in ["raw", "cut"] {
      try plain.answer(end)
      #expect(try internet("https://10.0.0.2:80/") == "none", "\(end)")
    }
    withExtendedLifetime(tls) {}
  }

  // MARK: As time goes on

  @Test func `who has logged in is told by the next probe, and what says nothing new makes no line`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let follow = try follow(networks, "--probe-interval", "0.1")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "portal")
    for _ in 0..<5 { try server.nextRequest() }
    try server.answer("204")
    let line = try follow.next()
    #expect(line.internet == "full")
    #expect(line.sequence == 3)
    for _ in 0..<5 { try server.nextRequest() }
    try server.answer("302")
    #expect(try follow.next().internet == "portal")
  }

  @Test func `an interval of 0 asks once`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let follow = try follow(networks, "--probe-interval", "0")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "portal")
    try server.nextRequest()
    try server.answer("204")
    // The next request is that of a new path.
    try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed v0")
    #expect(line.internet == "unknown")
    #expect(try follow.next().internet == "full")
  }

  @Test func `a pulled cable is told at once, while a probe hangs`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try follow(networks, "--probe-timeout", "1000")
    _ = try follow.next()
    try server.nextRequest()
    try networks.far.run("ip link set v1 down")
    let line = try follow.next()
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(line.internet == "none")
    try follow.waitUntilChildless()
    try server.answer("204")
    try networks.far.run("ip link set v1 up")
    let back = try follow.next()
    #expect(back.summary == "wifi route_up v0")
    #expect(back.internet == "unknown")
    #expect(try follow.next().internet == "full")
  }

  @Test func `a path that changes ends the probe that runs, and another one is made`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try follow(networks, "--probe-timeout", "1000")
    _ = try follow.next()
    try server.nextRequest()
    try server.answer("204")
    try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    #expect(try follow.next().summary == "wifi address_changed v0")
    try server.clientLeaves()
    #expect(try follow.next().internet == "full")
    try follow.waitUntilChildless()
  }

  @Test func `a burst of changes makes no storm of probes`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    try folder.installHelper("echo started >>\(folder.file("starts")); echo full")
    let follow = try Follow(
      ChildProcess(networks.near.command([program, "-f", "--json", "--probe", Self.url])))
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "full")
    try networks.near.run(
      "for i in $(seq 20 59); do ip addr add 10.0.0.$i/24 dev v0; ip route replace default via 10.0.0.2 src 10.0.0.$i; done"
    )
    for _ in 20...59 {
      let line = try follow.next()
      // A slow machine may let the path settle in between.
      if line.reason == "internet_changed" { _ = try follow.next() }
    }
    #expect(try follow.next().internet == "full")
    let starts = try String(contentsOfFile: folder.file("starts"), encoding: .utf8)
    #expect(starts.split(separator: "\n").count < 10)
  }

  // MARK: The helper

  @Test func `without the helper one sentence says so, and all else works`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let sentence =
      "netwatch: --probe needs netwatch-http, which is not here; install netwatch's package, or put it beside netwatch."
    let follow = try Follow(
      ChildProcess(networks.near.command([program, "-f", "--json", "--probe", Self.url, "--count", "3"])))
    #expect(try follow.next().internet == "unknown")
    try networks.far.run("ip link set v1 down")
    #expect(try follow.next().internet == "none")
    try networks.far.run("ip link set v1 up")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.wait() == .exited(0))
    #expect(try follow.process.errorText() == sentence)
    // Where the answer is all that is wanted there is none.
    for command in ["status", "wait"] {
      let result = try ChildProcess.run(networks.near.command([program, command, "--json", "--probe", Self.url]))
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error == sentence)
    }
  }

  @Test func `a helper that can not be loaded is told in a sentence, once`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    let complaint = "netwatch-http: error while loading shared libraries: libcurl.so.4: cannot open shared object file"
    try folder.installHelper("echo started >>\(folder.file("starts")); echo '\(complaint)' >&2; exit 127")
    let follow = try Follow(
      ChildProcess(
        networks.near.command([program, "-f", "--json", "--probe", Self.url, "--probe-interval", "0.1"])))
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.nextErrorLine() == "netwatch: --probe: netwatch-http can not run: \(complaint)")
    let deadline = Deadline(20)
    func starts() throws -> Int {
      try String(contentsOfFile: folder.file("starts"), encoding: .utf8).split(separator: "\n").count
    }
    while try starts() < 5, !deadline.isOver { usleep(2_000) }
    follow.process.signal(SIGTERM)
    #expect(try follow.process.errorText() == "")
    #expect(try follow.process.nextLine() == nil)
    let status = try ChildProcess.run(networks.near.command([program, "status", "--probe", Self.url]))
    #expect(status.ending == .exited(2))
    #expect(status.output == [])
    #expect(status.error == "netwatch: --probe: netwatch-http can not run: \(complaint)")
  }

  @Test func `a helper that is killed leaves nothing known, and no zombie`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try follow(networks, "--probe-interval", "0.1", "--probe-timeout", "1000")
    _ = try follow.next()
    try server.nextRequest()
    try server.answer("302")
    kill(try #require(follow.process.children.first), SIGKILL)
    #expect(
      try follow.process.nextErrorLine() == "netwatch: --probe: netwatch-http was ended by signal \(SIGKILL)")
    let line = try follow.next()
    #expect(line.internet == "portal")
    try server.answer("hang")
    try server.nextRequest()
    kill(try #require(follow.process.children.first), SIGKILL)
    #expect(try follow.next().internet == "unknown")
    try server.answer("204")
    #expect(try follow.next().internet == "full")
    try server.answer("hang")
    try server.nextRequest()
    // No more than the one that runs.
    #expect(follow.process.children.count == 1)
  }

  @Test func `a helper that does not give up is ended`() throws {
    let networks = try TwoNetworks()
    let folder = try TemporaryFolder()
    let program = try folder.install(Programs.netwatch)
    try folder.installHelper("exec sleep 1000")
    let status = try ChildProcess.run(
      networks.near.command([program, "status", "--json", "--probe", Self.url, "--probe-timeout", "0.1"]))
    #expect(status.ending == .exited(0))
    #expect(try Line(#require(status.output.first)).internet == "unknown")
  }

  @Test(arguments: ["reader", "SIGTERM", "SIGKILL", "count"])
  func `no helper outlives netwatch`(end: String) throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let options = end == "count" ? ["--count", "2"] : []
    let process = try ChildProcess(
      networks.near.command(
        [Programs.netwatch, "-f", "--json", "--probe", Self.url, "--probe-timeout", "1000"] + options))
    _ = try process.nextLine()
    try server.nextRequest()
    switch end {
    case "reader": process.closeOutput()
    case "SIGTERM": process.signal(SIGTERM)
    case "SIGKILL": process.signal(SIGKILL)
    default:
      try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    }
    _ = try process.wait()
    try server.clientLeaves()
  }

  @Test func `netwatch itself maps no libcurl, and starts nothing unless it is to probe`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let plain = try networks.near.follow()
    _ = try plain.next()
    #expect(plain.process.children == [])
    #expect(plain.internets == [nil])
    let probing = try follow(networks)
    _ = try probing.next()
    try server.nextRequest()
    #expect(probing.process.children.count == 1)
    let helper = try #require(probing.process.children.first)
    for (process, maps) in [(plain.process.pid, false), (probing.process.pid, false), (helper, true)] {
      let found = try ChildProcess.run(["grep", "-m", "1", "-o", "libcurl", "/proc/\(process)/maps"])
      #expect(found.output == (maps ? ["libcurl"] : []))
    }
  }

  // MARK: Commands

  @Test func `status waits for the answer, and says it in words`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    for (answer, words, check) in [
      ("204", "internet: full", 0), ("302", "behind a login page (captive portal)", 1), ("close", "no internet", 1),
      ("500", "internet: unknown", 1),
    ] as [(String, String, CInt)] {
      try server.answer(answer)
      let status = try ChildProcess.run(
        networks.near.command([Programs.netwatch, "status", "--format", "text", "--check", "--probe", Self.url]))
      #expect(status.output.first?.hasSuffix("initial, \(words)") == true, "\(status.output)")
      #expect(status.ending == .exited(check))
    }
    try networks.far.run("ip link set v1 down")
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "--json", "--check", "--probe", Self.url]))
    #expect(try Line(#require(status.output.first)).internet == "none")
    #expect(status.ending == .exited(1))
  }

  @Test func `bars and metrics show it`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let arguments = ["status", "--probe", Self.url]
    let bar = try ChildProcess.run(
      networks.near.command([Programs.netwatch] + arguments + ["--format", "polybar", "--hide-when", "reachable"]))
    #expect(bar.output == ["%{F#cc79a7}◐ v0 login%{F-}"])
    let metrics = try ChildProcess.run(networks.near.command([Programs.netwatch] + arguments + ["--prometheus"]))
    #expect(metrics.output.contains("netwatch_internet{access=\"portal\"} 1"))
    #expect(metrics.output.contains("netwatch_internet{access=\"full\"} 0"))
    let follow = try ChildProcess(
      networks.near.command([
        Programs.netwatch, "-f", "--probe", Self.url, "--probe-interval", "0.1", "--format", "dwm",
      ]))
    #expect(try follow.nextLine() == "● v0")
    #expect(try follow.nextLine() == "◐ v0 login")
    try server.answer("close")
    #expect(try follow.nextLine() == "◌ v0 no internet")
    try server.answer("204")
    #expect(try follow.nextLine() == "● v0")
  }

  @Test func `a snapshot is of the path that is there in the end`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let status = try ChildProcess(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", Self.url]))
    try server.nextRequest()
    try networks.far.run("ip link set v1 down")
    let line = try Line(#require(try status.nextLine()))
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(line.event == "initial")
    #expect(line.internet == "none")
    #expect(try status.wait() == .exited(0))
  }

  @Test func `wait waits for the internet`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let wait = try ChildProcess(
      networks.near.command([
        Programs.netwatch, "wait", "--json", "--probe", Self.url, "--probe-interval", "0.1",
      ]))
    for _ in 0..<3 { try server.nextRequest() }
    try server.answer("204")
    let line = try Line(#require(try wait.nextLine()))
    #expect(line.internet == "full")
    #expect(try wait.wait() == .exited(0))
    try server.answer("302")
    let late = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "wait", "--json", "-t", "1", "--probe", Self.url]))
    #expect(late.ending == .exited(1))
    #expect(try Line(#require(late.output.first)).internet == "portal")
  }

  @Test func `with a service the probe is the follower's own`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let service = try RunningService(in: networks.near)
    let follow = try service.follow("--probe", Self.url)
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "full")
    let client = try service.client()
    client.send("{\"begin\":\"a\"}")
    let busy = try follow.next()
    #expect(busy.event == "activity")
    #expect(busy.internet == "full")
    #expect(busy.sequence == 3)
    try server.nextRequest()
    // The service goes, and what the probe has found holds: the path is the same.
    #expect(service.process.children == [])
    try service.kill()
    var line = try follow.next()
    while line.event == "activity" {
      #expect(line.internet == "full")
      if line.reason == "service_lost" { try networks.far.run("ip link set v1 down") }
      line = try follow.next()
    }
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(line.internet == "none")
    withExtendedLifetime((server, client)) {}
  }

  @Test func `hooks and probes do not take each other's ends`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let follow = try follow(
      networks, "--probe-interval", "0.1", "--exec", "echo $NETWATCH_REASON $NETWATCH_INTERNET")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.process.nextErrorLine() == "initial unknown")
    for (answer, internet) in [("204", "full"), ("302", "portal"), ("204", "full"), ("302", "portal")] {
      try server.answer(answer)
      var line = try follow.next()
      // The first answer may still be that from before.
      if line.internet != internet { line = try follow.next() }
      #expect(line.internet == internet)
      while try follow.process.nextErrorLine() != "internet_changed \(internet)" {}
    }
    try follow.waitUntilChildless(butFor: 1)
  }

  @Test(arguments: [
    ["--record", "/nonexistent/x", "-f", "--probe", url], ["explain", "--probe", url], ["serve", "--probe", url],
    ["replay", "--probe", url, "x"], ["snippet", "--probe", url, "waybar"], ["-f", "--probe-interval", "5"],
    ["-f", "--probe-expect", "x"], ["-f", "--probe-timeout", "5"], ["status", "--probe", url, "--probe-interval", "5"],
    ["--probe", url, "--probe-interval", "5"], ["wait", "--for", "not-reachable", "--probe", url],
    ["-f", "--probe", "10.0.0.2"], ["-f", "--probe", "ftp://10.0.0.2/"], ["-f", "--probe", "http:///x"],
    ["-f", "--probe", "http://a b/"], ["-f", "--probe", url, "--probe-interval", "0.01"],
    ["-f", "--probe", url, "--probe-timeout", "0"], ["-f", "--probe", url, "--probe-expect", ""],
    ["run", "--probe", url, "--", "true"],
  ])
  func `what makes no sense is refused`(arguments: [String]) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.output == [])
    #expect(result.error.contains("probe"), "\(result.error)")
  }
}

extension Follow {
  fileprivate var internets: [String?] { lines.map(\.internet) }

  /// Waits until no more than so many children are left.
  fileprivate func waitUntilChildless(butFor count: Int = 0) throws {
    let deadline = Deadline(20)
    while process.children.count > count {
      guard !deadline.isOver else { throw TestFailure("still there: \(process.children)") }
      usleep(2_000)  // nobody tells of the end of another's child
    }
  }
}

extension ChildProcess {
  /// Those that it has started and not collected.
  fileprivate var children: [pid_t] {
    let text = try? String(contentsOfFile: "/proc/\(pid)/task/\(pid)/children", encoding: .utf8)
    return (text ?? "").split(separator: " ").compactMap { pid_t($0) }
  }
}

extension TemporaryFolder {
  /// A shell script in the helper's place. Copied by another process: a program that some child of ours still has open to
  /// write, because it was forked meanwhile, can not be run.
  fileprivate func installHelper(_ script: String) throws {
    let source = try TemporaryFolder()
    try "#!/bin/sh\n\(script)\n".write(toFile: source.file("netwatch-http"), atomically: true, encoding: .utf8)
    _ = try install(source.file("netwatch-http"))
  }
}
