import Foundation
import Testing

/// Tests of the library on the real kernel, in a program of its own.
@Suite struct LibraryTests {
  @Test func `a monitor knows at once, tells everybody, and goes when it is released`() throws {
    let namespace = try NetworkNamespace.online()
    let probe = try ChildProcess(namespace.command([Programs.probe, "library"]))
    #expect(try probe.nextLine() == "current wifi v0 threads 1")
    #expect(try probe.nextLine() == "actor wifi 1")
    #expect(try probe.nextLine() == "sequence wifi")
    probe.write("path\n")
    #expect(try probe.nextLine() == "path true false false [v0] [10.0.0.2]")

    try namespace.run("ip link set v1 down")
    let told = Set([try probe.nextLine(), try probe.nextLine(), try probe.nextLine()])
    #expect(told == ["immediately not-reachable", "actor not-reachable 2", "sequence not-reachable"])

    probe.write("cancel\n")
    #expect(try probe.nextLine() == "cancelled")
    try namespace.run("ip link set v1 up")
    #expect(try probe.nextLine() == "sequence wifi")

    probe.write("release\n")
    #expect(try probe.nextLine() == "sequence ended")
    #expect(try probe.nextLine() == "threads 0")
    #expect(try probe.wait() == .exited(0))
  }

  @Test func `monitors that are dropped leave nothing behind`() throws {
    let namespace = try NetworkNamespace.online()
    let server = try NameServer(in: namespace)
    try server.write(hosts: "10.0.0.2 known.example\n")
    let probe = try ChildProcess(server.command([Programs.probe, "dropped", "1000"]))
    for kind in ["plain", "sharing", "followed", "host"] {
      let words = try #require(try probe.nextLine(within: 120)).split(separator: " ")
      #expect(words.dropLast() == "\(kind) descriptors 0 threads 0 memory".split(separator: " "))
      // The figure is in KiB and comes from pages that are full of holes. Monitors that stay would need about thirty
      // times as much.
      #expect(try #require(Int(words[6])) < 2_048, "\(kind)")
    }
    #expect(try probe.wait() == .exited(0))
  }

  @Test func `delays that no clock can hold do no harm`() throws {
    let namespace = try NetworkNamespace.online()
    let server = try NameServer(in: namespace)
    try server.write(hosts: "10.0.0.2 known.example\n")
    let probe = try ChildProcess(server.command([Programs.probe, "delays"]))
    for _ in 0..<6 { #expect(try probe.nextLine() == "wifi") }
    // Two monitors have a negative hold, which means no hold. The others wait for a hundred years.
    try namespace.run("ip link set v1 down")
    for _ in 0..<2 { #expect(try probe.nextLine() == "changed") }
    probe.closeInput()
    #expect(try probe.nextLine() == "held 6")
    #expect(try probe.wait() == .exited(0))
  }

  @Test func `a reader of the stream goes on when the service is killed and comes back`() throws {
    let service = try RunningService()
    let probe = try ChildProcess(
      service.namespace.command([Programs.probe, "events"]), environment: service.environment)
    #expect(try probe.nextLine() == "wifi initial 0")
    try service.namespace.run("ip link set v1 down")
    #expect(try probe.nextLine() == "not-reachable no_carrier 0")
    for _ in 0..<5 {
      try service.kill()
      #expect(try probe.nextLine() == "unknown service_lost 0")
      try service.restart()
      #expect(try probe.nextLine() == "not-reachable no_carrier 0")
    }
    let client = try service.client()
    client.send("{\"begin\":\"a\"}")
    #expect(try probe.nextLine() == "not-reachable request_began 1")
    try service.namespace.run("ip link set v1 up")
    while try probe.nextLine() != "wifi route_up 1" {}
  }

  @Test func `one of two that watch the same source leaves, and the other misses nothing`() throws {
    let namespace = try NetworkNamespace.online()
    let probe = try ChildProcess(namespace.command([Programs.probe, "watchers"]))
    #expect(try probe.nextLine() == "first wifi")
    #expect(try probe.nextLine() == "second wifi")
    // Wait until the addresses are checked, so that the change below is the only message of the kernel.
    try namespace.waitUntilAddressesAreChecked()
    try namespace.run("ip route del default")
    #expect(try probe.nextLine() == "first not-reachable")
    #expect(try probe.nextLine() == "second not-reachable")
    try namespace.run("ip route add default via 10.0.0.2")
    #expect(try probe.nextLine() == "second wifi")
  }
}
