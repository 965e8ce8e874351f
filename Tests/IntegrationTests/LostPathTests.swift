import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of HTTP requests while uplinks are lost and come back.
@Suite struct LostPathTests {
  private static let url = "http://10.9.0.9:8080/"
  /// Returns the URL of an answer that a ``SlowServer`` sends when the test calls `answer()`.
  private static func held(_ host: String = "10.9.0.9") -> String { "http://\(host)/wait/go" }

  // MARK: Connections

  @Test func `after a change of the uplink the next request goes out at once`() throws {
    let networks = try TwoUplinks()
    let app = try networks.app(grace: 0)
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.0.0.1")
    try networks.near.run("ip link set v0 down")
    let next = try app.request("GET \(Self.url) retry")
    #expect(next.outcome == "200 10.1.0.1")
    #expect(next.milliseconds < 2_000)
  }

  @Test func `the way to one's own address by IPv6 counts as well`() throws {
    let networks = try TwoUplinks()
    try networks.far.run(
      "ip addr add fd09::9/128 dev lo", "ip addr add fd00::2/64 dev v1 nodad", "ip addr add fd01::2/64 dev w1 nodad")
    try networks.near.run(
      "ip addr add fd00::1/64 dev v0 nodad", "ip addr add fd01::1/64 dev w0 nodad",
      "ip route add default via fd00::2 metric 100", "ip route add default via fd01::2 metric 200")
    let app = try networks.app(grace: 0)
    let url = "http://[fd09::9]:8080/"
    #expect(try app.request("GET \(url)").outcome == "200 fd00::1")
    try networks.near.run("ip addr del fd00::1/64 dev v0", "ip route del default via fd00::2")
    #expect(try app.request("GET \(url) retry").outcome == "200 fd01::1")
  }

  @Test func `an address that each link may have is asked on the link that the request names`() throws {
    let networks = try TwoUplinks()
    try networks.far.run("ip addr add fe80::9/64 dev v1 nodad")
    try networks.near.run("ip addr add fe80::8/64 dev v0 nodad")
    let app = try networks.app(grace: 0)
    #expect(try app.request("GET http://[fe80::9%25v0]:8080/").outcome == "200 fe80::8")
  }

  @Test func `addresses are forgotten with the uplink that led to them, also without a connection`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, tellsQuestions: false, "moving.example,10.9.0.9")
    let app = try networks.app(asking: names)
    let url = "http://moving.example:8080/once"
    #expect(try app.request("GET \(url)").outcome == "200 10.9.0.9")
    try names.change(to: "moving.example,10.1.0.2")
    // The session keeps addresses for a minute, and nothing has happened that makes it forget them.
    #expect(try app.request("GET \(url)").outcome == "200 10.9.0.9")
    try networks.near.run("ip link set v0 down")
    // When the session answers this request, it has seen the change.
    #expect(try app.request("GET http://10.1.0.2:8080/").outcome == "200 10.1.0.1")
    #expect(try app.request("GET \(url)").outcome == "200 10.1.0.2")
  }

  @Test func `a suspended request hears of a lost path when it is resumed`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0)
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    app.begin("control", "suspend it")
    // When the session answers this request, it has suspended the other one.
    #expect(try app.request("GET http://10.1.0.2:8080/").outcome == "200 10.1.0.1")
    try networks.near.run("ip link set v0 down", "ip link set w0 down")
    #expect(try app.request("GET \(Self.url)").outcome == "the path to the server was lost")
    #expect(app.isRunning("it"))
    app.begin("control", "resume it")
    #expect(try app.end(of: "it").outcome == "the path to the server was lost")
  }

  @Test func `a connection that still works is kept`() throws {
    let networks = try TwoUplinks()
    let app = try networks.app(grace: 0)
    let near = "http://10.1.0.2:8080/"
    #expect(try app.request("GET \(near)").outcome == "200 10.1.0.1")
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.0.0.1")
    try networks.near.run("ip link set v0 down")
    #expect(try app.request("GET \(Self.url) retry").outcome == "200 10.1.0.1")
    #expect(try app.request("GET \(near)").outcome == "200 10.1.0.1")
    // nginx writes a line of its log after its answer.
    let numbers = try eventually(networks.log) { $0.count >= 4 }.compactMap { $0.split(separator: " ").last }
    #expect(numbers.count == 4 && numbers[3] == numbers[0] && numbers[2] != numbers[1], "\(networks.log)")
  }

  @Test func `a connection is kept whose way a rule for this user chooses`() throws {
    let networks = try TwoUplinks()
    try networks.near.run("ip route add default via 10.1.0.2 table 77", "ip rule add uidrange 0-0 lookup 77")
    let app = try networks.app(grace: 0)
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.1.0.1")
    try networks.near.run("ip link set v0 down")
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.1.0.1")
    let numbers = try eventually(networks.log) { $0.count >= 2 }.compactMap { $0.split(separator: " ").last }
    #expect(numbers.count == 2 && numbers[0] == numbers[1], "\(networks.log)")
  }

  @Test func `a carrier that is back within the grace does not disturb the request`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 30)
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    try networks.far.run("ip link set v1 down")
    try networks.near.run("until ip -o link show v0 | grep -q NO-CARRIER; do sleep 0.01; done")
    // The app knows of the loss by now, because a request over the other uplink is answered after the loss.
    #expect(try app.request("GET http://10.1.0.2:8080/").outcome == "200 10.1.0.1")
    #expect(app.isRunning("it"))
    try networks.far.run("ip link set v1 up")
    try networks.near.waitUntilRunning("v0")
    server.answer()
    #expect(try app.end(of: "it").outcome == "200 ok")
  }

  @Test func `a local address that is gone is a loss without grace`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 3_600)
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    try networks.near.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try app.end(of: "it").outcome == "the path to the server was lost")
  }

  @Test func `a connection that would leave by a tunnel is lost`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0)
    app.begin("it", "GET \(Self.held())")
    app.begin("other", "GET \(Self.held("10.1.0.2"))")
    _ = try (server.next("asked"), server.next("asked"))
    let tunnel = try networks.near.addTunnel("tun0")
    try networks.near.run("ip route add 10.9.0.9 dev tun0")
    #expect(try app.end(of: "it").outcome == "the path to the server was lost")
    server.answer()
    #expect(try app.end(of: "other").outcome == "200 ok")
    tunnel.closeInput()
  }

  @Test func `the proxy's way counts, not the server's`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0, environment: ["http_proxy=http://10.1.0.2:3128"])
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    // From now on there is no route to the server.
    try networks.near.run("ip link set v0 down", "ip route flush table main root 0/0 exact 0/0")
    // A request that begins after the change also goes to the proxy, and ends.
    #expect(try app.request("GET http://10.1.0.2:8080/").outcome == "200 10.1.0.2")
    server.answer()
    #expect(try app.end(of: "it").outcome == "200 ok")
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    try networks.near.run("ip link set w0 down")
    #expect(try app.end(of: "it").outcome == "the path to the server was lost")
  }

  // MARK: Servers that need no internet

  @Test func `a server on the link is asked and kept without any default route`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0)
    app.begin("it", "GET \(Self.held("10.0.0.2"))")
    _ = try server.next("asked")
    try networks.near.run("ip route del default dev v0", "ip route del default dev w0")
    #expect(try app.request("GET http://10.0.0.2:8080/ wait=60").outcome == "200 10.0.0.1")
    server.answer()
    #expect(try app.end(of: "it").outcome == "200 ok")
  }

  @Test func `a server of this machine is never touched`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer(in: networks.near)
    let app = try networks.app(grace: 0)
    app.begin("it", "GET \(Self.held("127.0.0.1"))")
    app.begin("other", "GET \(Self.held("10.1.0.1"))")
    _ = try (server.next("asked"), server.next("asked"))
    try networks.near.run("ip link set v0 down", "ip link set w0 down")
    #expect(try app.request("GET http://127.0.0.1/wait/0 wait=60").outcome == "200 ok")
    server.answer()
    #expect(try app.end(of: "it").outcome == "200 ok")
    #expect(try app.end(of: "other").outcome == "200 ok")
  }

  // MARK: Requests without a connection

  @Test func `without a route a request fails with pathLost, or waits for one`() throws {
    let networks = try TwoUplinks()
    try networks.near.run("ip route del default dev v0", "ip route del default dev w0")
    let app = try networks.app(grace: 0)
    #expect(try app.request("GET \(Self.url)").outcome == "the path to the server was lost")
    #expect(try app.request("GET http://nowhere.invalid/").outcome == "the path to the server was lost")
    #expect(try app.request("GET \(Self.url) wait=0.05").outcome == "not reachable")
    app.begin("it", "GET \(Self.url) wait=60 total=2")
    app.begin("post", "POST \(Self.url) retry once=text")
    // The total time begins after the wait for the first path.
    #expect(try app.request("GET \(Self.url) wait=2.2").outcome == "not reachable")
    #expect(app.isRunning("it"))
    try networks.near.run("ip route add default via 10.1.0.2 dev w0")
    #expect(try app.end(of: "it").outcome == "200 10.1.0.1")
    #expect(try app.end(of: "post").outcome.hasPrefix("200"))
    // There is a route now, but no server listens at port 1.
    #expect(try app.request("GET http://10.9.0.9:1/").outcome == "cannot connect")
  }

  @Test func `a link without a carrier is no way to connect`() throws {
    let networks = try TwoUplinks()
    try networks.near.run("ip route del default dev w0")
    let app = try networks.app(grace: 0.2)
    try networks.far.run("ip link set v1 down")
    try networks.near.run("until ip -o link show v0 | grep -q NO-CARRIER; do sleep 0.01; done")
    #expect(try app.request("GET \(Self.url)").outcome == "the path to the server was lost")
    app.begin("it", "GET \(Self.url) retry")
    #expect(try app.request("GET \(Self.url)").outcome == "the path to the server was lost")
    #expect(app.isRunning("it"))
    try networks.far.run("ip link set v1 up")
    #expect(try app.end(of: "it").outcome == "200 10.0.0.1")
  }

  // MARK: Repeated requests

  @Test(arguments: [
    ("GET", "retry", true), ("GET", "", false), ("PUT", "retry body=text", true), ("POST", "retry", false),
    ("POST", "retry body=text", false), ("POST", "retry repeat body=text", true), ("PUT", "retry once=text", false),
  ])
  func `what may be repeated goes out again, once`(_ method: String, _ options: String, isRepeated: Bool) throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0)
    app.begin("it", "\(method) \(Self.held()) \(options)")
    _ = try server.next("asked")
    try networks.near.run("ip link set v0 down")
    if isRepeated {
      _ = try server.next("asked")
      server.answer()
    }
    #expect(try app.end(of: "it").outcome == (isRepeated ? "200 ok" : "the path to the server was lost"))
  }

  @Test func `a request whose answer has begun is not repeated`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0)
    app.begin("it", "GET http://10.9.0.9/drip/go retry")
    _ = try server.next("asked")
    // The answer has begun to arrive in `near` when its bytes are acknowledged.
    try networks.far.run(
      "until ss -Htni state established 'sport = :80' | grep -qE 'bytes_acked:[0-9]{2}'; do sleep 0.01; done")
    try networks.near.run("ip link set v0 down")
    #expect(try app.end(of: "it").outcome == "the path to the server was lost")
  }

  @Test func `every request of a connection that many share ends, or goes out again`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    try networks.write("file", bytes: 5_000_000)
    let app = try networks.app(grace: 0)
    let url = "https://10.9.0.9:8443/"
    let (ok, lost) = ("200 ok", "the path to the server was lost")
    #expect(try app.request("GET \(url)").outcome == "200 10.0.0.1")
    let requests = [
      ("GET", "", lost), ("GET", "retry", ok), ("HEAD", "retry", "200"), ("PUT", "retry body=text", ok),
      ("PUT", "body=text", lost), ("POST", "retry body=text", lost), ("POST", "retry", lost),
      ("POST", "retry repeat body=text", ok), ("PUT", "retry once=text", lost), ("GET", "timeout=100 retry", ok),
    ]
    for (number, (method, options, _)) in requests.enumerated() {
      app.begin("\(number)", "\(method) \(url)wait/go \(options)")
    }
    app.begin("answered", "GET \(url)slow/file retry")
    for _ in requests { _ = try server.next("asked") }
    // Wait until the answer to the last request has begun to arrive.
    try networks.near.run("until ss -Htni dport = :8443 | grep -qE 'bytes_received:[0-9]{5}'; do sleep 0.01; done")
    let shared = networks.far.command(["ss", "-Htn", "state", "established", "sport = :8443"])
    #expect(try ChildProcess.run(shared).output.count == 1)
    try networks.near.run("ip link set v0 down")
    // Requests that may be repeated reach the server again.
    for request in requests where request.2 != lost { _ = (request, try server.next("asked")) }
    server.answer()
    for (number, (method, options, outcome)) in requests.enumerated() {
      #expect(try app.end(of: "\(number)").outcome == outcome, "\(method) \(options)")
    }
    #expect(try app.end(of: "answered").outcome == lost)
    #expect(try app.request("GET \(url)").outcome == "200 10.1.0.1")
  }

  @Test func `a resumable download goes on where it was when the network is back`() throws {
    let networks = try TwoUplinks()
    try networks.write("file", bytes: 6_000_000)
    let home = try TemporaryFolder()
    let app = try networks.app(grace: 0)
    app.begin("it", "GET \(Self.url)slow/file retry to=\(home.file("it"))")
    try eventually(home.names) { $0.contains("it.netwatch-part.json") }
    try eventually(home.size(of: "it.netwatch-part")) { $0 > 0 }
    try networks.near.run("ip link set v0 down", "ip link set w0 down")
    #expect(try app.request("GET \(Self.url)").outcome == "the path to the server was lost")
    try networks.near.run("ip link set w0 up")
    try networks.near.run("ip route add default via 10.1.0.2 dev w0")
    #expect(try app.end(of: "it").outcome == "206 file")
    #expect(FileManager.default.contentsEqual(atPath: home.file("it"), andPath: networks.folder.file("file")))
  }

  // MARK: Without netlink

  @Test func `where netlink is not permitted everything works as before`() throws {
    let networks = try TwoUplinks()
    let server = try networks.slowServer()
    let app = try networks.app(grace: 0, sandbox: "netlink")
    #expect(try app.request("GET \(Self.url)").outcome == "200 10.0.0.1")
    app.begin("it", "GET \(Self.held())")
    _ = try server.next("asked")
    try networks.near.run("ip link set v0 down")
    #expect(try app.request("GET http://10.1.0.2:8080/").outcome == "200 10.1.0.1")
    #expect(app.isRunning("it"))
    try networks.near.run("ip link set v0 up")
    let get = try ChildProcess.run(
      networks.near.command([Programs.sandbox, "netlink", Programs.netwatch, "get", "http://10.1.0.2:8080/", "-o", "-"])
    )
    #expect(get.output == ["10.1.0.1"], "\(get.error)")
  }

  // MARK: netwatch get

  @Test func `a cable that is pulled in the middle of get ends it after the grace`() throws {
    let networks = try TwoUplinks()
    try networks.write("file", bytes: 5_000_000)
    let home = try TemporaryFolder()
    try networks.near.run("ip route del default dev w0")
    let get = try ChildProcess(
      networks.near.command(
        ["env", "-C", home.path, Programs.netwatch, "get", "\(Self.url)slow/file", "--path-loss-grace", "1"]))
    get.closeInput()
    try eventually(home.names) { $0.contains("file.netwatch-part.json") }
    let start = Line.monotonicNow
    try networks.far.run("ip link set v1 down")
    #expect(try get.wait() == .exited(1))
    #expect(Line.monotonicNow - start > 900_000_000)
    let said = try get.errorText()
    #expect(said.hasPrefix("netwatch: 10.9.0.9:8080 cannot be reached: there is no path to 10.9.0.9; "), "\(said)")
  }
}
