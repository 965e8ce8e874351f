import Foundation
import NetwatchTestSupport
import Testing

/// Each interface that could carry the traffic is judged as if it were the only one.
@Suite struct UplinkTests {
  /// A state of an uplink, and the stage that fails.
  enum State: String, CaseIterable {
    case works, off, unplugged, addressless, routeless, dead

    var failing: String? {
      switch self {
      case .works: nil
      case .off, .unplugged: "link"
      case .addressless: "address"
      case .routeless, .dead: "gateway"
      }
    }

    var evidence: String? {
      switch self {
      case .works: nil
      case .off: "link_down"
      case .unplugged: "no_carrier"
      case .addressless: "no_address"
      case .routeless: "no_route"
      case .dead: "neighbour_failed"
      }
    }

    /// Brings the uplink NAME, whose other end is PEER and whose network is NETWORK, into this state.
    func bring(_ name: String, _ peer: String, _ network: String, _ metric: Int, in networks: TwoUplinks) throws {
      try networks.far.run("ip link set \(peer) up", "ip addr replace \(network).2/24 dev \(peer)")
      try networks.near.run(
        "ip addr flush dev \(name)", "ip neigh flush dev \(name)", "ip link set \(name) up",
        "ip addr add \(network).1/24 dev \(name)",
        "ip route replace default via \(network).2 dev \(name) metric \(metric)")
      try networks.near.waitUntilRunning(name)
      switch self {
      case .works: try UplinkTests.ask("\(network).2", over: name, until: "REACHABLE", in: networks)
      case .off: try networks.near.run("ip link set \(name) down")
      case .unplugged: try networks.far.run("ip link set \(peer) down")
      case .addressless: try networks.near.run("ip addr flush dev \(name)")
      case .routeless: try networks.near.run("ip route del default dev \(name)")
      case .dead:
        try networks.far.run("ip addr flush dev \(peer)")
        try UplinkTests.ask("\(network).2", over: name, until: "FAILED", in: networks)
      }
    }
  }

  /// Makes the kernel ask for a router, and waits until its state is known.
  private static func ask(_ router: String, over name: String, until state: String, in networks: TwoUplinks) throws {
    try networks.near.run(
      "echo 20 >/proc/sys/net/ipv4/neigh/\(name)/retrans_time_ms", "ip neigh flush dev \(name)",
      "'\(Programs.probe)' datagrams \(router) \(name) 1 1",
      "until ip neigh show \(router) dev \(name) | grep -q \(state); do sleep 0.01; done")
  }

  /// What is said of an uplink: the stage that fails and its evidence.
  private func said(_ line: Line, _ name: String) -> (failing: String?, evidence: String?)? {
    let uplinks = line.object["uplinks"] as? [[String: Any]] ?? []
    guard let stages = uplinks.first(where: { $0["interface"] as? String == name })?["stages"] as? [String: Any] else {
      return nil
    }
    let failing = stages["failing"] as? String
    return (failing, failing.flatMap { (stages[$0] as? [String: Any])?["evidence"] as? String })
  }

  private func status(_ networks: TwoUplinks, _ arguments: String...) throws -> Line {
    let command = [Programs.netwatch, "status", "--json", "--no-service", "--each"] + arguments
    return try Line(ChildProcess.run(networks.near.command(command)).output.joined())
  }

  @Test func `two uplinks, each in each of six states`() throws {
    let networks = try TwoUplinks()
    for first in State.allCases {
      for second in State.allCases {
        try first.bring("v0", "v1", "10.0.0", 100, in: networks)
        try second.bring("w0", "w1", "10.1.0", 200, in: networks)
        let line = try status(networks)
        for (name, state) in [("v0", first), ("w0", second)] {
          let told = try #require(said(line, name), "\(line)")
          #expect(told == (state.failing, state.evidence), "\(first) \(second): \(line)")
        }
      }
    }
  }

  @Test func `what changes beside the path is a line, and only with --each`() throws {
    let networks = try TwoUplinks()
    let plain = try networks.near.follow("--no-service")
    let follow = try networks.near.follow("--no-service", "--each")
    #expect(try plain.next().object["uplinks"] == nil)
    let first = try follow.next()
    #expect(said(first, "v0")?.failing == nil)
    #expect(said(first, "w0")?.failing == nil)
    let inUse = (first.object["uplinks"] as? [[String: Any]])?.filter { $0["in_use"] as? Bool == true }
    #expect(inUse?.compactMap { $0["interface"] as? String } == ["v0"])
    // A route of the other uplink vanishes; its router dies; its cable is pulled.
    try networks.near.run("ip route del default dev w0")
    let routeless = try follow.next()
    #expect(routeless.summary == "wifi uplink_changed v0")
    #expect(said(routeless, "w0")?.evidence == "no_route")
    try networks.near.run("ip route add default via 10.1.0.2 dev w0 metric 200")
    #expect(try said(follow.next(), "w0")?.failing == nil)
    try networks.far.run("ip addr flush dev w1")
    try Self.ask("10.1.0.2", over: "w0", until: "FAILED", in: networks)
    #expect(try said(follow.next(), "w0")?.evidence == "neighbour_failed")
    try networks.far.run("ip link set w1 down")
    var line = try follow.next()
    while said(line, "w0")?.failing != "link" { line = try follow.next() }
    // The path itself is told with both of them.
    try networks.near.run("ip link set v0 down")
    while line.status == "wifi" { line = try follow.next() }
    #expect(said(line, "v0")?.evidence == "link_down")
    #expect(try plain.next().status == "not-reachable")
    #expect(plain.lines.count == 2)
  }

  @Test func `a program can wait for an uplink that is not in use`() throws {
    let networks = try TwoUplinks()
    try networks.near.run("ip link set w0 down", "ip link set v0 down")
    let wait = try networks.near.netwatch("wait", "--for", "uplink=virtual", "--timeout", "60")
    let other = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "wait", "--for", "uplink=wwan", "--timeout", "0.1"]))
    #expect(other.ending == .exited(1))
    #expect(other.error.contains("uplink=wwan does not hold: there is no such interface"), "\(other.error)")
    try networks.near.run("ip link set w0 up")
    try networks.near.run("ip route replace default via 10.1.0.2 dev w0 metric 200")
    #expect(try wait.wait() == .exited(0))
  }

  @Test func `a probe asks over each uplink`() throws {
    let networks = try TwoUplinks()
    // What the server sends over the second uplink is lost.
    try networks.far.run("ip route add blackhole 10.1.0.1/32")
    let line = try status(
      networks, "--probe", "http://10.9.0.9:8080/", "--probe-expect", "10.0.0.1", "--probe-timeout", "3")
    #expect(line.internet == "full")
    #expect(said(line, "v0")?.failing == nil)
    #expect(said(line, "w0")?.failing == "internet")
    let text = try ChildProcess.run(
      networks.near.command([Programs.netwatch, "status", "--no-service", "--each", "--color", "never"])
    ).output
    #expect(text.contains { $0.contains("v0") && $0.contains("in use") }, "\(text)")
    #expect(text.contains { $0.contains("w0") && $0.contains("could carry the traffic") }, "\(text)")
  }
}
