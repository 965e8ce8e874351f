import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `--check --for`, `wait --for` and `--network-id` in network namespaces of the test.
@Suite struct NetworkConditionTests {
  private static func check(_ namespace: NetworkNamespace, _ conditions: String..., options: [String] = []) throws
    -> Bool
  {
    let result = try ChildProcess.run(
      namespace.command(
        [Programs.netwatch, "--check", "--json"] + conditions.flatMap { ["--for", $0] } + options))
    let isRefuted = result.ending == .exited(1) && result.error.contains(" does not hold: ")
    guard isRefuted || result.ending == .exited(0) && result.error == "" else {
      throw TestFailure("\(result.ending) \(result.error)")
    }
    return result.ending == .exited(0)
  }

  /// Returns the ID of the network in the JSON output; nil if the ID is not known.
  private static func network(_ namespace: NetworkNamespace, _ options: String...) throws -> String? {
    let result = try ChildProcess.run(
      namespace.command([Programs.netwatch, "status", "--json", "--network-id"] + options))
    let line = try Line(try #require(result.output.first))
    let value = try #require((line.object["reachability"] as? [String: Any])?["network_id"])
    return value as? String
  }

  @Test func `every condition has to hold`() throws {
    let namespace = try NetworkNamespace.online()
    #expect(try Self.check(namespace, "unmetered", "not-vpn", "wifi", "reachable"))
    #expect(try !Self.check(namespace, "unmetered", "wwan"))
    #expect(try !Self.check(namespace, "ssid=home"))
    #expect(try !Self.check(namespace, "unmetered", options: ["--expensive", "v*"]))
    #expect(try Self.check(namespace, "not-vpn", options: ["--expensive", "v*"]))
    let tunnel = try namespace.addTunnel("tun7")
    try namespace.run("ip route replace default dev tun7")
    #expect(try !Self.check(namespace, "not-vpn"))
    tunnel.signal(SIGKILL)
    _ = try tunnel.wait()
    try namespace.run("ip link set v1 down")
    for condition in ["unmetered", "not-vpn", "reachable", "wifi", "network=0123456789abcdef"] {
      #expect(try !Self.check(namespace, condition))
    }
    #expect(try Self.check(namespace, "not-reachable"))
  }

  @Test func `wait ends when all conditions hold`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun7")
    let routes = ["ip route add default via 10.0.0.2 metric 5", "ip route add default dev tun7 metric 1"]
    for route in ["ip route del default"] + routes { try namespace.run(route) }
    let process = try namespace.netwatch("wait", "--for", "unmetered", "--for", "not-vpn", "-t", "60", "--json")
    // The condition does not hold now.
    #expect(
      try ChildProcess.run(namespace.command([Programs.netwatch, "wait", "--for", "not-vpn", "-t", "0.2", "-q"])).ending
        == .exited(1))
    tunnel.signal(SIGKILL)
    #expect(try process.wait() == .exited(0))
    #expect(try process.nextLine().map(Line.init)?.interface == "v0")
  }

  @Test func `a network has an ID while the kernel knows the gateway`() throws {
    let namespace = try NetworkNamespace.online()
    func neighbour(_ change: String) throws { try namespace.run("ip neigh \(change)") }
    #expect(try Self.network(namespace) == nil)
    try neighbour("replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud stale")
    let home = try #require(try Self.network(namespace))
    #expect(home.count == 16)
    #expect(try Self.check(namespace, "network=\(home)", "unmetered"))
    #expect(try !Self.check(namespace, "network=0123456789abcdef"))
    // Another address of this machine in the same network changes nothing, nor does the kernel's state of the gateway.
    try namespace.run("ip addr add 10.0.0.99/24 dev v0")
    try neighbour("replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    #expect(try Self.network(namespace) == home)
    // A tunnel that takes the traffic changes nothing either.
    let tunnel = try namespace.addTunnel("tun7")
    try namespace.run(
      "ip route del default", "ip route add default via 10.0.0.2 metric 5", "ip route add default dev tun7 metric 1")
    #expect(try !Self.check(namespace, "not-vpn"))
    #expect(try Self.network(namespace) == home)
    tunnel.signal(SIGKILL)
    _ = try tunnel.wait()

    try neighbour("replace 10.0.0.2 lladdr 02:00:00:00:00:08 dev v0 nud permanent")
    let other = try #require(try Self.network(namespace))
    #expect(other != home)
    // The kernel's entry now says that the router does not answer.
    try neighbour("replace 10.0.0.2 dev v0 nud failed")
    #expect(try Self.network(namespace) == nil)
    try namespace.run("ip addr flush dev v0", "ip addr add 10.0.0.1/25 dev v0", "ip route add default via 10.0.0.2")
    try neighbour("replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    let narrow = try #require(try Self.network(namespace))
    #expect(Set([home, other, narrow]).count == 3)
    // IPv6 counts only if IPv4 has no gateway.
    try namespace.run("ip -6 addr add fd00:7::1/64 dev v0 nodad", "ip -6 route add default via fe80::7 dev v0")
    try neighbour("replace fe80::7 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    #expect(try Self.network(namespace) == narrow)
    try neighbour("replace 10.0.0.2 dev v0 nud failed")
    #expect(try Self.network(namespace) == nil)
    try namespace.run("ip route del default")
    let ipv6 = try #require(try Self.network(namespace))
    #expect(Set([home, other, narrow, ipv6]).count == 4)
  }

  @Test func `text is the ID alone, and only if it is asked for`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    let id = try #require(try Self.network(namespace))
    for options in [["--network-id"], ["status", "--network-id"], ["--format", "text", "--network-id"]] {
      let text = try ChildProcess.run(namespace.command([Programs.netwatch] + options))
      #expect(text.output == [id] && text.error == "" && text.ending == .exited(0))
    }
    for options in [["--format", "text", "-v"], ["--json"]] {
      let plain = try ChildProcess.run(namespace.command([Programs.netwatch, "status"] + options))
      #expect(!plain.output.joined().contains("network_id") && !plain.output.joined().contains(id))
    }
  }

  /// The error message names the condition that does not hold, and says why.
  @Test func `a condition that does not hold is named`() throws {
    let namespace = try NetworkNamespace.online()
    func error(_ command: [String], _ conditions: String...) throws -> String {
      let result = try ChildProcess.run(
        namespace.command([Programs.netwatch] + command + conditions.flatMap { ["--for", $0] }))
      #expect(result.ending == .exited(1))
      return result.error
    }
    #expect(
      try error(["--check"], "ssid=Home")
        == "netwatch: ssid=Home does not hold: no WiFi network carries the traffic")
    #expect(
      try error(["wait", "-t", "50ms"], "medium=wifi", "vpn", "reachable") == """
        netwatch: medium=wifi does not hold: virtual v0 carries the traffic
        netwatch: vpn does not hold: the traffic goes through no VPN
        """)
    #expect(
      try error(["--check"], "not-reachable") == "netwatch: not-reachable does not hold: virtual v0 carries the traffic"
    )
    #expect(
      try error(["--check"], "network=0123456789abcdef")
        == "netwatch: network=0123456789abcdef does not hold: the hardware address of the gateway is not known")
    try namespace.run("ip link set v1 down")
    #expect(try error(["--check"], "wired") == "netwatch: wired does not hold: nothing is reachable (no carrier)")
    #expect(try error(["--check", "-q"], "wired") == "")
    #expect(try error(["wait", "-q", "-t", "0"], "wired") == "")
    #expect(try error(["--check"]) == "")
    #expect(try Self.check(namespace, "not-reachable"))
  }

  @Test func `-q prints nothing and sets the exit status`() throws {
    let namespace = try NetworkNamespace.online()
    for (words, status) in [
      (["--check", "-q"], 0), (["status", "--check", "--quiet", "--json"], 0), (["-q", "--check", "--for", "vpn"], 1),
      (["wait", "-q", "-t", "5m", "--for", "medium=virtual"], 0),
    ] as [([String], CInt)] {
      let result = try ChildProcess.run(namespace.command([Programs.netwatch] + words))
      #expect(result.ending == .exited(status) && result.output == [] && result.error == "", "\(words)")
    }
  }

  @Test func `wait ends when the kernel has learned the gateway`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    let id = try #require(try Self.network(namespace))
    try namespace.run("ip neigh del 10.0.0.2 dev v0")
    let process = try namespace.netwatch("wait", "--for", "network=\(id)", "-t", "60", "--json")
    // netwatch waits: the timer of `-t` is set.
    try eventually((process.isAsleep, process.timeToNextTimer)) { $0.0 && $0.1 != nil }
    try namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud reachable")
    #expect(try process.wait() == .exited(0))
    #expect(try process.nextLine().map(Line.init)?.interface == "v0")
  }

  @Test func `an ID does not come from a service, which does not know it`() throws {
    let service = try RunningService()
    try service.namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    let result = try ChildProcess.run(
      service.namespace.command([Programs.netwatch, "status", "--json", "--network-id"]),
      environment: service.environment)
    #expect(result.output.first?.contains("\"network_id\":\"") == true, "\(result)")
  }

  @Test func `without a machine ID a salt is kept, or it is said what to do`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    try namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    /// Runs netwatch on a machine that has no ID (/etc/machine-id).
    func run(_ environment: String...) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
      try ChildProcess.run(
        namespace.command(
          [
            "unshare", "--mount", "sh", "-c",
            "[ ! -e /etc/machine-id ] || mount --bind /dev/null /etc/machine-id; exec \"$@\"", "sh", "env",
          ] + environment + [Programs.netwatch, "status", "--json", "--network-id"]))
    }
    func id(_ environment: String...) throws -> String? {
      let result = try run(environment[0], environment[1])
      return (try Line(try #require(result.output.first, "\(result.error)")).object["reachability"] as? [String: Any])?[
        "network_id"] as? String
    }
    let first = try #require(try id("XDG_STATE_HOME=\(folder.path)", "HOME=/nonexistent"))
    #expect(first != (try Self.network(namespace)))
    #expect(try id("XDG_STATE_HOME=\(folder.path)", "HOME=/nonexistent") == first)
    let salt = try FileManager.default.attributesOfItem(atPath: folder.file("netwatch/network-salt"))
    #expect(salt[.posixPermissions] as? Int == 0o600 && salt[.size] as? Int == 32)
    #expect(
      try FileManager.default.attributesOfItem(atPath: folder.file("netwatch"))[.posixPermissions] as? Int == 0o700)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("netwatch")) == ["network-salt"])
    // Another home folder stands for another user.
    #expect(try id("XDG_STATE_HOME=relative", "HOME=\(folder.file("home"))") != first)
    #expect(FileManager.default.fileExists(atPath: folder.file("home/.local/state/netwatch/network-salt")))
    for (state, home, sentence) in [
      ("", "", "needs /etc/machine-id or a folder of your own; run systemd-machine-id-setup, or set XDG_STATE_HOME"),
      ("/proc/nowhere", "", "cannot keep the salt of network IDs in '/proc/nowhere/netwatch/network-salt'"),
    ] {
      let result = try run("XDG_STATE_HOME=\(state)", "HOME=\(home)")
      #expect(result.ending == .exited(2) && result.output == [])
      #expect(result.error.contains(sentence), "\(result.error)")
    }
  }

  @Test(arguments: [
    (["--for", "wifi"], "--for belongs to --check; add --check."),
    (["-f", "--for", "wifi"], "--for belongs to status and wait; leave out --follow."),
    (["-f", "--network-id"], "--network-id belongs to status; leave out --follow."),
    (["--check", "--for", "unmeterd"], "did you mean unmetered?"),
    (["wait", "--for", "lunch=1"], "not-vpn"), (["wait", "--for", "ssid="], "1 to 32 bytes"),
    (["wait", "--for", "ssid=\(String(repeating: "x", count: 33))"], "1 to 32 bytes"),
    (["wait", "--for", "network=1234"], "the 16 digits that netwatch status --network-id prints"),
    (["wait", "--for", "not-reachable", "--for", "wifi"], "cannot be combined with another condition"),
    (["--check", "--for", "not-reachable", "--probe", "http://192.0.2.1/"], "leave out one"),
    (["explain", "--for", "wifi"], "--for; leave it out"),
    (["status", "--prometheus", "--network-id"], "leave out --network-id"),
  ])
  func `a mistake is answered with what to do`(arguments: [String], hint: String) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.error.contains(hint), "\(result.error)")
  }
}
