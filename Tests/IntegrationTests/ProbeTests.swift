import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `--probe`: netwatch asks a server of the user's choice whether the internet is reachable.
@Suite struct ProbeTests {
  @Test func `the first line is there at once, and the answer is a line of its own`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let follow = try networks.followProbing()
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
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", AnswerServer.url] + options))
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
    let follow = try networks.followProbing("--probe-timeout", "0.5")
    #expect(try follow.next().internet == "unknown")
    try server.nextRequest()
    let line = try follow.next()
    #expect(line.summary == "wifi internet_changed v0")
    #expect(line.internet == "none")
    try server.clientLeaves()
  }

  @Test func `the line of an answer has the signal that came while the server was asked`() throws {
    let networks = try TwoNetworks()
    var server: AnswerServer? = try AnswerServer(in: networks.far, answering: "hang")
    let folder = try TemporaryFolder()
    let socket = try ListeningPath(folder.file("s"))
    // The line of a service that the test makes up: the real path, over a WiFi network.
    let status = try ChildProcess.run(networks.near.command([Programs.netwatch, "status", "--json", "--no-service"]))
    let wifi = #""wifi":{"ssid":"a","ssid_hex":"61","signal_dbm":-50,"signal_percent":100}"#
    let identity = """
      ,"service":{"protocol":1,"version":null,"namespace":\(networks.near.identity),"counts":"requests"}}
      """
    let first = try #require(status.output.first).replacing(#""wifi":null"#, with: wifi).dropLast() + identity
    let follow = try Follow(
      ChildProcess(
        networks.near.command([
          Programs.netwatch, "-f", "--json", "--signal", "dbm", "--probe", AnswerServer.url, "--probe-timeout", "60",
        ]), environment: ["NETWATCH_SOCKET=\(folder.file("s"))"]))
    let client = accept(socket.descriptor, nil, nil)
    defer { close(client) }
    func send(_ line: String) {
      let bytes = Array((line + "\n").utf8)
      #expect(unsafe Glibc.send(client, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
    }
    send(String(first))
    #expect(try follow.next().signal == -50)
    try server?.nextRequest()
    send(
      first.replacing(#""event":"initial","reason":"initial""#, with: #""event":"wifi","reason":"signal_changed""#)
        .replacing("-50", with: "-70"))
    #expect(try follow.next().signal == -70)
    server = nil
    let line = try follow.next()
    #expect(line.reason == "internet_changed")
    #expect(line.internet == "none")
    #expect(line.signal == -70)
  }

  @Test func `where nobody listens there is no internet`() throws {
    let networks = try TwoNetworks()
    // No name server answers for the third URL.
    for url in ["http://10.0.0.2:81/", "https://10.0.0.2:81/", "http://no-such-host.invalid/"] {
      let status = try ChildProcess.run(
        networks.near.command([
          Programs.netwatch, "status", "--json", "--probe", url, "--probe-timeout", "1",
        ]))
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
    // A program that is not bound to a link reaches the server.
    let free = try ChildProcess.run(networks.near.command([Programs.netwatchHTTP, "probe", url]))
    #expect(free.output == ["full (status 204)"])
    try server.nextRequest()
    let status = try ChildProcess.run(
      networks.near.command([
        Programs.netwatch, "status", "--json", "--probe", url, "--probe-timeout", "1",
      ]))
    let line = try Line(#require(status.output.first))
    #expect(line.interface == "v0")
    #expect(line.internet == "none")
    // If w0 carries the traffic, the server is reached.
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
    let arguments = [Programs.netwatch, "status", "--json", "--probe", AnswerServer.url, "--probe-timeout", "1"]
    let status = try ChildProcess.run(networks.near.command(arguments))
    let line = try Line(#require(status.output.first))
    #expect(line.interface == "v0")
    #expect(line.vpn?["interface"] as? String == "tun0")
    // The server answers on the link beneath the tunnel, but the probe goes through the tunnel.
    #expect(line.internet == "none")
    withExtendedLifetime((server, tunnel)) {}
  }

  @Test func `a proxy of the environment is not asked`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let status = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--json", "--probe", AnswerServer.url]),
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
      let status = try ChildProcess.run(
        networks.near.command([Programs.netwatch, "--json", "--probe", url]))
      return try Line(#require(status.output.first)).internet
    }
    #expect(try internet("https://10.0.0.2/") == "portal")
    #expect(try internet("https://10.0.0.2:80/") == "portal")
    for end in ["raw", "cut"] {
      try plain.answer(end)
      let found = try internet("https://10.0.0.2:80/")
      #expect(found == "none", "\(end)")
    }
    withExtendedLifetime(tls) {}
  }

  // MARK: As time goes on

  @Test func `who has logged in is told by the next probe, and what says nothing new makes no line`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "302")
    let follow = try networks.followProbing("--probe-interval", "0.1")
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
    let follow = try networks.followProbing("--probe-interval", "0")
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "portal")
    try server.nextRequest()
    try server.answer("204")
    // The next request comes only because the path has changed.
    try networks.near.run("ip addr add 10.0.0.7/24 dev v0", "ip route replace default via 10.0.0.2 src 10.0.0.7")
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed v0")
    #expect(line.internet == "unknown")
    #expect(try follow.next().internet == "full")
  }

  @Test func `a pulled cable is told at once, while a probe hangs`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let follow = try networks.followProbing("--probe-timeout", "1000")
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
    let follow = try networks.followProbing("--probe-timeout", "1000")
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
      ChildProcess(networks.near.command([program, "-f", "--json", "--probe", AnswerServer.url])))
    #expect(try follow.next().internet == "unknown")
    #expect(try follow.next().internet == "full")
    try networks.near.run(
      "for i in $(seq 20 59); do ip addr add 10.0.0.$i/24 dev v0; ip route replace default via 10.0.0.2 src 10.0.0.$i; done"
    )
    // Changes that come together are reported in one line. On a slow machine, the path may settle between them.
    var line = try follow.next()
    while line.ipv4?["address"] as? String != "10.0.0.59" || line.internet != "full" { line = try follow.next() }
    let starts = try String(contentsOfFile: folder.file("starts"), encoding: .utf8)
    #expect(starts.split(separator: "\n").count < 10)
  }
}
