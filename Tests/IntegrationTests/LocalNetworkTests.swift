import Foundation
import NetwatchTestSupport
import Testing

/// Networks without a way to the internet: what the lines, `status` and `explain` say about them.
@Suite struct LocalNetworkTests {
  /// Two machines on one link, without a route that leads out.
  private func networks() throws -> TwoNetworks {
    let networks = try TwoNetworks()
    try networks.near.run("ip route del default")
    return networks
  }

  private func object(_ networks: TwoNetworks, _ arguments: String...) throws -> [String: Any] {
    let answer = try ChildProcess.run(networks.near.command([Programs.netwatch] + arguments))
    let line = try #require(answer.output.first)
    return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  private func scope(_ object: [String: Any]) -> String? {
    (object["reachability"] as? [String: Any])?["scope"] as? String
  }

  @Test func `the first machine that answers makes a network local, and a pulled cable ends it`() throws {
    let networks = try networks()
    let follow = try networks.near.follow("--no-service")
    let first = try follow.next()
    #expect(first.summary == "not-reachable no_route -")
    #expect(scope(first.object) == nil)
    #expect(scope(try object(networks, "status", "--json", "--no-service")) == nil)
    try networks.near.send(to: "10.0.0.2")
    let local = try follow.next()
    #expect(local.summary == "not-reachable no_route -")
    #expect(local.event == "reachability")
    #expect(scope(local.object) == "local")
    // A further machine is no news: the next line is about the cable.
    try networks.far.configure("addr add 10.0.0.3/24 dev v1")
    try networks.near.send(to: "10.0.0.3")
    try networks.near.send(to: "fd00::2")
    try networks.far.run("ip link set v1 down")
    let pulled = try follow.next()
    #expect(pulled.summary == "not-reachable no_carrier -")
    #expect(scope(pulled.object) == nil)
  }

  @Test func `status and explain say it in words and in JSON, and a terminal too`() throws {
    let networks = try networks()
    try networks.near.send(to: "fd00::2")
    let words = "Only the local network is within reach."
    try eventually(try object(networks, "status", "--json", "--no-service")) { scope($0) == "local" }
    let explained = try object(networks, "explain", "--json")
    #expect(explained["scope"] as? String == "local")
    #expect((explained["summary"] as? String)?.hasSuffix(words) == true)
    let status = try ChildProcess.run(networks.near.command([Programs.netwatch, "status", "--no-service"]))
    #expect(
      status.output.joined(separator: " ").contains("Offline: there is no default route. \(words)"), "\(status.output)")
    let text = try networks.near.netwatch("--follow", "--no-service", "--format", "text", "--count", "1")
    #expect(try text.nextLine()?.contains("no route, local network only") == true)
    // With a route, nothing is said about it.
    try networks.near.configure("route add default via 10.0.0.2")
    let online = try object(networks, "status", "--json", "--no-service")
    #expect((online["reachability"] as? [String: Any])?["status"] as? String == "wifi")
    #expect(scope(online) == nil)
  }

  @Test func `a service tells its clients`() throws {
    let service = try RunningService()
    let client = try service.client()
    #expect(try client.next().event == "initial")
    try service.namespace.send(to: "10.0.0.2")
    try service.namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev v0 nud reachable")
    try service.namespace.run("ip route del default")
    let line = try client.next()
    #expect(line.summary == "not-reachable no_route -")
    #expect(scope(line.object) == "local")
    let status = try service.namespace.netwatch("status", "--json")
    #expect(try status.nextLine()?.contains(#""scope":"local""#) == true)
  }
}
