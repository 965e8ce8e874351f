import Testing

/// Several targets in one program.
@Suite struct TargetTests {
  private static func namespace() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.5.0.1/24 dev w0",
      "ip route add 198.51.100.0/24 via 10.5.0.2")
    return namespace
  }

  @Test func `two targets with different routes share a thread and a socket`() throws {
    let namespace = try Self.namespace()
    let probe = try ChildProcess(namespace.command([Programs.probe, "targets", "203.0.113.7", "198.51.100.7"]))
    #expect(try probe.nextLine() == "203.0.113.7 wifi v0")
    #expect(try probe.nextLine() == "198.51.100.7 wifi w0")
    // One socket receives events, and one is for questions.
    #expect(try probe.nextLine() == "threads 1 netlink sockets 2")
    try namespace.run("ip link set w1 down")
    #expect(try probe.nextLine() == "198.51.100.7 not-reachable -")
    try namespace.run("ip link set v1 down")
    #expect(try probe.nextLine() == "203.0.113.7 not-reachable -")
    try namespace.run("ip link set v1 up")
    #expect(try probe.nextLine() == "203.0.113.7 wifi v0")
    probe.closeInput()
    #expect(try probe.nextLine() == "threads 0")
    #expect(try probe.wait() == .exited(0))
  }

  @Test func `one of two targets goes on when the other one stops`() throws {
    let namespace = try Self.namespace()
    let probe = try ChildProcess(namespace.command([Programs.probe, "targets", "203.0.113.7", "198.51.100.7"]))
    for _ in 0..<3 { _ = try probe.nextLine() }
    probe.write("\n")
    #expect(try probe.nextLine() == "stopped")
    // This route is only for the target that is left.
    try namespace.run("ip route add 198.51.100.7/32 via 10.0.0.2")
    #expect(try probe.nextLine() == "198.51.100.7 wifi v0")
    try namespace.run("ip route del 198.51.100.7/32")
    #expect(try probe.nextLine() == "198.51.100.7 wifi w0")
    probe.closeInput()
    #expect(try probe.nextLine() == "threads 0")
  }
}
