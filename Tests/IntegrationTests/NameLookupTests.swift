import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Lookups of host names by an HTTP session.
@Suite struct NameLookupTests {
  private static let server = "http://10.9.0.9:8080/"

  @Test func `a lookup that is given up holds nothing up`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near)
    let silent = try names.fallSilent()
    let app = try networks.app(asking: names)
    app.begin("it", "GET http://mute.example/")
    app.begin("late", "GET http://late.example/ timeout=0.2")
    _ = try (silent.nextLine(), silent.nextLine())
    app.begin("-", "cancel it")
    #expect(try app.end(of: "it").outcome == "cancelled")
    #expect(try app.end(of: "late").outcome == "timed out")
    #expect(try app.request("GET \(Self.server)").outcome == "200 10.0.0.1")
    // Everything above has happened while both lookups still wait for the name server.
    #expect(try app.request("lookups").outcome == "2")
  }

  @Test func `no more than sixteen lookups are left behind`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near)
    try names.write("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n", to: "resolv.conf")
    try names.write(hosts: "10.9.0.9 web.example\n")
    let silent = try names.fallSilent()
    let app = try networks.app(asking: names)
    let hosts = 0..<40
    for number in hosts { app.begin("\(number)", "GET http://host\(number).example/") }
    // Each of the 16 lookups asks for two families.
    for _ in 0..<32 { _ = try silent.nextLine() }
    for number in hosts { app.begin("-", "cancel \(number)") }
    for number in hosts { #expect(try app.end(of: "\(number)").outcome == "cancelled") }
    #expect(try app.request("lookups").outcome == "16")
    #expect(try app.request("GET \(Self.server)").outcome == "200 10.0.0.1")
    #expect(try app.request("GET http://web.example:8080/").outcome == "200 10.0.0.1", "there is room again in the end")
  }

  @Test(arguments: ["office.example", "Office.Example."])
  func `requests to one name ask for it once`(name: String) throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, "office.example,10.9.0.9", "end.example,10.9.0.9")
    let app = try networks.app(asking: names)
    for number in 0..<10 { app.begin("\(number)", "GET http://\(name):8080/") }
    for number in 0..<10 { #expect(try app.end(of: "\(number)").outcome == "200 10.0.0.1") }
    #expect(try app.request("GET http://end.example:8080/").outcome == "200 10.0.0.1")
    let questions = try (0..<3).map { _ in try names.nextQuestion().name.lowercased() }
    #expect(questions == ["office.example", "office.example", "end.example"], "A and AAAA each")
  }

  @Test func `a name that nobody knows is not resolved`() throws {
    let networks = try TwoUplinks()
    let app = try networks.app(asking: try NameServer(in: networks.near))
    #expect(try app.request("GET http://nowhere.example/").outcome == "the host was not found")
  }

  @Test func `the time of a lookup is the request's`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, "office.example,10.9.0.9")
    let app = try networks.app(asking: names)
    names.pause()
    app.begin("it", "GET http://office.example:8080/ metrics")
    try eventually(app.request("lookups").outcome) { $0 == "1" }
    let begun = Line.monotonicNow
    let held = try eventually((Line.monotonicNow - begun) / 1_000_000) { $0 >= 100 }
    #expect(app.isRunning("it"))
    names.goOn()
    let times = try app.end(of: "it").outcome.split(separator: " ").compactMap { Int($0) }
    #expect(times.count == 2 && times[0] >= held && times[1] >= times[0], "\(times)")
  }

  @Test func `after the loss of a path its names are looked up anew`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, "office.example,10.0.0.2")
    let app = try networks.app(asking: names)
    let url = "http://office.example:8080/"
    #expect(try app.request("GET \(url)").outcome == "200 10.0.0.1")
    try names.change(to: "office.example,10.1.0.2")
    // No machine has the old address any more.
    try networks.far.run("ip addr del 10.0.0.2/24 dev v1", "ip addr add 10.0.0.3/24 dev v1")
    try networks.near.run("ip link set v0 down")
    let next = try app.request("GET \(url) retry")
    #expect(next.outcome == "200 10.1.0.1")
    #expect(next.milliseconds < 10_000)
  }

  @Test func `after a change of the network a lookup that runs is not waited for`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near)
    try names.write("nameserver 127.0.0.1\noptions timeout:20 attempts:1\n", to: "resolv.conf")
    let silent = try names.fallSilent()
    let app = try networks.app(asking: names)
    app.begin("it", "GET http://office.example:8080/")
    _ = try silent.nextLine()
    // The lookup has asked for both families and waits. If it still had to ask, the question would be refused once the
    // server is gone.
    try eventually(app.process.sleepers(named: "netwatch-lookup")) { $0 == 1 }
    #expect(app.isRunning("it"))
    silent.signal(SIGKILL)
    _ = try silent.wait()
    try names.change(to: "office.example,10.9.0.9")
    try networks.near.run("ip link set v0 down")
    #expect(try app.end(of: "it").outcome == "200 10.1.0.1")
    #expect(try app.request("lookups").outcome == "1", "the first one is still there")
  }

  // MARK: Proxies

  @Test func `a proxy may have a name`() throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, "proxy.example,10.1.0.2")
    let app = try networks.app(asking: names, environment: ["http_proxy=http://proxy.example:3128"])
    // The server sees the address of the proxy, not that of the app.
    #expect(try app.request("GET \(Self.server)").outcome == "200 10.9.0.9")
    #expect(try names.nextQuestion().name == "proxy.example")
  }

  @Test func `a proxy that nobody knows is not resolved`() throws {
    let networks = try TwoUplinks()
    let app = try networks.app(
      asking: NameServer(in: networks.near), environment: ["http_proxy=http://proxy.example:3128"])
    #expect(try app.request("GET \(Self.server)").outcome == "the host was not found")
  }

  @Test(arguments: ["socks5://10.9.0.9:80", "socks5://socks.example:80"])
  func `a proxy that wants the server's address is given it`(proxy: String) throws {
    let networks = try TwoUplinks()
    let names = try NameServer(in: networks.near, "office.example,10.7.7.7", "socks.example,10.9.0.9")
    let socks = try ChildProcess(networks.far.command([Programs.probe, "socks-server"]))
    #expect(try socks.nextLine() == "ready")
    let app = try networks.app(asking: names, environment: ["http_proxy=\(proxy)"])
    #expect(try app.request("GET http://office.example/").outcome == "200 ok")
    #expect(try socks.nextLine() == "asked 10.7.7.7")
  }
}
