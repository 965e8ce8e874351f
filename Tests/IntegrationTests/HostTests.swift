import CLinux
import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of a host as the target, with a real name server that starts, stops, changes its answers and falls silent.
@Suite struct HostTests {
  /// Returns a namespace with 10.0.0.1 on v0 and 10.5.0.1 on w0. Behind v0 is the network 10.1.0.0/16, behind w0 is
  /// 10.6.0.0/16, and there is no default route.
  private static func namespace() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.0.0.1/24 dev v0", "ip addr add 10.5.0.1/24 dev w0", "ip route add 10.1.0.0/16 via 10.0.0.2",
      "ip route add 10.6.0.0/16 via 10.5.0.2")
    return namespace
  }

  // MARK: The addresses of a name

  @Test func `a host is as reachable as its address`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4?["address"] as? String == "10.0.0.1")
    #expect(line.ipv4?["gateway"] as? String == "10.0.0.2")
    #expect(line.ipv6 == nil)
    try namespace.run("ip route del 10.1.0.0/16")
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add 10.1.2.3/32 via 10.5.0.2")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
  }

  @Test func `one good address of two families is enough`() throws {
    let namespace = try Self.namespace()
    try namespace.run("ip addr add fd00::1/64 dev w0 nodad", "ip route add fd00:7::/64 via fd00::2")
    let server = try NameServer(in: namespace, "office.example,10.1.2.3,fd00:7::3")
    let follow = try server.follow("--target", "office.example")
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv6?["address"] as? String == "fd00::1")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set w1 up")
    #expect(try follow.summary() == "wifi route_up w0")
  }

  @Test func `one good address of one family is enough`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace)
    try server.write(hosts: "10.1.2.3 office.example\n10.6.2.3 office.example\n")
    let follow = try server.follow("--target", "office.example")
    let first = try follow.next()
    #expect(first.status == "wifi" && first.reason == "initial")
    let (used, other) = first.interface == "v0" ? ("v1", "w0") : ("w1", "v0")
    try namespace.run("ip link set \(used) down")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
    try namespace.run("ip link set v1 down", "ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
  }

  // MARK: Names that appear, change and disappear

  @Test func `a name that is not there comes`() throws {
    let server = try NameServer(in: Self.namespace())
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "not-reachable unresolved -")
    try server.change(to: "office.example,10.1.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `a name comes by the hosts file`() throws {
    let server = try NameServer(in: Self.namespace())
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "not-reachable unresolved -")
    try server.write(hosts: "10.6.2.3 office.example\n")
    #expect(try follow.summary() == "wifi route_up w0")
  }

  @Test func `a name goes, and only a server that knows takes it away`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "wifi initial v0")
    // No server answers any more. netwatch keeps the addresses that it knows, and judges them as before.
    server.stop()
    try server.writeConfiguration()
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    try server.change(to: "another.example,10.1.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "not-reachable unresolved -")
  }

  @Test func `a name that leads elsewhere moves the path`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "wifi initial v0")
    try server.change(to: "office.example,10.6.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip route add 10.7.0.0/16 via 10.5.0.3")
    try server.change(to: "office.example,10.7.2.3")
    try server.writeConfiguration()
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed w0")
    #expect(line.ipv4?["gateway"] as? String == "10.5.0.3")
  }

  @Test func `an address with the same path makes no line, and is the one that counts`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "wifi initial v0")
    try server.change(to: "office.example,10.1.4.5")
    try server.writeConfiguration()
    #expect(try server.nextQuestion().name == "office.example")
    try namespace.run("ip route add 10.1.4.5/32 via 10.5.0.2")
    #expect(try follow.summary() == "wifi interface_changed w0")
    // The old address does not matter any more, so a route that forbids it makes no line.
    try namespace.run("ip route add prohibit 10.1.2.3/32")
    try namespace.run("ip route add prohibit 10.1.4.5/32 metric 1", "ip route del 10.1.4.5/32 via 10.5.0.2")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
    #expect(follow.lines.map(\.sequence) == [1, 2, 3])
  }

  // MARK: Names that the system knows

  @Test(arguments: ["printer.local", "printer"])
  func `a name of this network is the system's, and no name server hears of it`(name: String) throws {
    let server = try NameServer(in: Self.namespace(), "office.example,10.1.2.3")
    try server.write(getent: "echo \"$@\" >> /etc/asked; echo '10.1.4.5  STREAM'")
    let follow = try server.follow("--target", name)
    #expect(try follow.summary() == "wifi initial v0")
    #expect(try server.text(of: "asked") == "ahosts \(name)\n")
    _ = try server.follow("--target", "office.example").next()
    #expect(try server.nextQuestion().name == "office.example")
  }

  @Test func `a name that only the system knows`() throws {
    let server = try NameServer(in: Self.namespace())
    try server.write(getent: "cat /etc/known")
    let follow = try server.follow("--target", "machine.example")
    #expect(try follow.summary() == "not-reachable unresolved -")
    try server.write("10.6.2.3  STREAM machine.example\n", to: "known")
    #expect(try follow.summary() == "wifi route_up w0")
  }

  @Test func `the system's own getent is asked`() throws {
    let server = try NameServer(in: Self.namespace())
    try server.write(getent: nil)
    try server.write("hosts: files\n", to: "nsswitch.conf")
    try server.write(hosts: "10.6.2.3 printer\n")
    let follow = try server.follow("--target", "printer")
    #expect(try follow.summary() == "wifi initial w0")
    let other = try server.follow("--target", "no-such-printer")
    #expect(try other.summary() == "not-reachable unresolved -")
  }

  @Test func `it is unknown until somebody answers, and not reachable when that is a no`() throws {
    let server = try NameServer(in: Self.namespace())
    let follow: Follow
    do {
      let silent = try server.fallSilent()
      follow = try server.follow("--target", "office.example")
      #expect(try silent.nextLine() == "asked")
      #expect(try follow.summary() == "unknown unresolved -")
    }
    try server.change(to: "another.example,10.1.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "not-reachable unresolved -")
    try server.change(to: "office.example,10.1.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test(arguments: [SIGKILL, SIGTERM])
  func `who asks the system does not outlive netwatch`(signal: CInt) throws {
    let server = try NameServer(in: Self.namespace())
    try server.write(getent: "echo $$ > /etc/process; exec sleep 600")
    let follow = try server.follow("--target", "printer")
    let process = try #require(pid_t(try server.text(of: "process").dropLast()))
    follow.process.signal(signal)
    #expect(try follow.process.wait() == .signalled(signal))
    try eventually((kill(process, 0), errno)) { $0.0 == -1 && $0.1 == ESRCH }
  }

  @Test func `whoever ignores the ends of children learns what the system says`() throws {
    let server = try NameServer(in: Self.namespace())
    try server.write(getent: "[ $2 = printer ] && echo '10.1.4.5  STREAM' || exit 2")
    let probe = try ChildProcess(
      server.command(["sh", "-c", "trap '' CHLD; exec \"$0\" targets printer scanner", Programs.probe]))
    #expect(try probe.nextLine() == "printer wifi v0")
    #expect(try probe.nextLine() == "scanner not-reachable -")
  }

  @Test func `a replay asks nobody`() throws {
    let server = try NameServer(in: Self.namespace())
    try server.write(getent: "echo \"$@\" >> /etc/asked; exit 2")
    let trace = "/tmp/netwatch-trace-\(UUID())"
    defer { try? FileManager.default.removeItem(atPath: trace) }
    let silent = try server.fallSilent()
    let follow = try server.follow("--record", trace, "--target", "office.example")
    #expect(try silent.nextLine() == "asked")
    #expect(try follow.summary() == "unknown unresolved -")
    silent.signal(SIGKILL)
    _ = try silent.wait()
    try server.change(to: "another.example,10.1.2.3")
    try server.writeConfiguration()
    #expect(try follow.summary() == "not-reachable unresolved -")
    follow.process.signal(SIGTERM)
    _ = try follow.process.wait()
    let asked = try server.text(of: "asked")
    let replay = try ChildProcess.run(server.command([Programs.netwatch, "replay", "--json", trace]))
    #expect(replay.ending == .exited(0))
    #expect(replay.output == follow.lines.map(\.text))
    #expect(try server.text(of: "asked") == asked)
  }

  // MARK: When a name is looked up

  @Test func `another path asks for the name again`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "wifi initial v0")
    #expect(Set([try server.nextQuestion().type, try server.nextQuestion().type]) == ["A", "AAAA"])
    // The answer is valid for an hour, and netwatch would ask again by itself after a minute.
    let start = Line.monotonicNow
    try namespace.run("ip route replace 10.1.0.0/16 via 10.5.0.2")
    #expect(try follow.summary() == "wifi interface_changed w0")
    #expect(try server.nextQuestion().name == "office.example")
    #expect(Line.monotonicNow - start < 20_000_000_000)
  }

  @Test func `a change of the network does not wait for the next try`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace)
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "not-reachable unresolved -")
    // netwatch asks at once, and again after one, two and four seconds. The next attempt comes after eight seconds.
    var tries = 0
    while tries < 4 { tries += try server.nextQuestion().type == "A" ? 1 : 0 }
    let start = Line.monotonicNow
    try server.change(to: "office.example,10.1.2.3")
    try namespace.run("ip addr add 10.7.0.1/24 dev w0")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect(try #require(line.monotonicNanoseconds) - start < 7_500_000_000)
  }

  // MARK: A server that does not answer

  @Test func `who never answers is waited for, but not for ever`() throws {
    let server = try NameServer(in: Self.namespace())
    let silent = try server.fallSilent()
    let start = Line.monotonicNow
    let follow = try server.follow("--target", "office.example")
    #expect(try silent.nextLine() == "asked")
    let line = try follow.next()
    #expect(line.summary == "unknown unresolved -")
    #expect(line.event == "initial")
    #expect(try #require(line.monotonicNanoseconds) - start > 1_900_000_000)
  }

  @Test func `it ends at once while it waits for an answer`() throws {
    let server = try NameServer(in: Self.namespace())
    let silent = try server.fallSilent()
    let follow = try server.follow("--target", "office.example")
    #expect(try silent.nextLine() == "asked")
    follow.process.signal(SIGTERM)
    #expect(try follow.process.wait() == .signalled(SIGTERM))
    // netwatch would have printed its first line after two seconds.
    #expect(try follow.process.nextLine() == nil)
  }

  @Test func `it sees that its reader goes while it waits for an answer`() throws {
    let server = try NameServer(in: Self.namespace())
    let silent = try server.fallSilent()
    // The first line comes after two seconds, and writing it would also show that the reader has left. On a busy
    // machine netwatch may see that only then. If so, the test tries again.
    func endsBeforeFirstLine() throws -> Bool {
      let follows = try (0..<2).map { _ in try server.follow("--target", "office.example") }
      for _ in follows { #expect(try silent.nextLine() == "asked") }
      follows[0].process.closeOutput()
      #expect(try follows[0].process.wait() == .exited(0))
      return !follows[1].process.hasLine
    }
    try eventually(endsBeforeFirstLine()) { $0 }
  }

  @Test func `a pulled cable is told at once while it waits for an answer`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example")
    #expect(try follow.summary() == "wifi initial v0")
    let silent = try server.fallSilent()
    try server.writeConfiguration()
    #expect(try silent.nextLine() == "asked")
    let start = Line.monotonicNow
    try namespace.run("ip link set v1 down")
    let line = try follow.next()
    #expect(line.summary == "not-reachable no_carrier -")
    // A lookup that gets no answer takes five seconds to fail.
    #expect(try #require(line.monotonicNanoseconds) - start < 4_900_000_000)
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `a network that comes brings the name with it`() throws {
    let here = try NetworkNamespace.withPair()
    let there = try NetworkNamespace(beside: here)
    try here.run("ip link set v1 netns \(there.pid)")
    try there.run("ip link set v1 up", "ip addr add 10.0.0.2/24 dev v1")
    let server = try NameServer(in: there, at: "10.0.0.2", "office.example,10.1.2.3")
    let follow = try server.follow("--target", "office.example", in: here)
    #expect(try follow.summary() == "unknown unresolved -")
    try here.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2")
    var summary = try follow.summary()
    // The addresses of the name may be known before there is a route to them.
    if summary == "not-reachable no_route -" { summary = try follow.summary() }
    #expect(summary == "wifi route_up v0")
  }

  // MARK: Kinds of names and targets

  @Test func `an international name is asked for in ASCII`() throws {
    let server = try NameServer(in: Self.namespace(), "xn--bcher-kva.example,10.1.2.3")
    let follow = try server.follow("--target", "Bücher.example")
    #expect(try follow.summary() == "wifi initial v0")
    #expect(try server.nextQuestion().name == "xn--bcher-kva.example")
  }

  @Test(arguments: [["--follow", "--target"], ["status", "--target"], ["wait", "--target"], ["explain"]])
  func `a name that cannot be one is refused with one sentence`(arguments: [String]) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments + ["\u{300}a.example"])
    #expect(result.ending == .exited(64))
    #expect(result.output == [])
    let sentences = result.error.split(separator: "\n").filter { $0.hasPrefix("Error:") }
    #expect(sentences.count == 1)
    #expect(sentences.first?.contains("'\u{300}a.example' is not a host name") == true, "\(result.error)")
    #expect(sentences.first?.hasSuffix("check its letters, or write its xn-- form.") == true)
  }

  @Test func `a rule for a port is obeyed`() throws {
    let namespace = try Self.namespace()
    try namespace.run(
      "ip rule add dport 443 ipproto tcp lookup 100", "ip route add default via 10.5.0.2 table 100")
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    // For either port, a route forbids one of the two addresses of `both.example`.
    try namespace.run("ip route add prohibit 10.1.9.9/32", "ip route add prohibit 10.1.9.9/32 table 100")
    try server.write(hosts: "10.1.9.9 both.example\n10.1.4.5 both.example\n")
    for (target, interface) in [
      ("office.example:443", "w0"), ("office.example:80", "v0"), ("office.example", "v0"), ("both.example:443", "w0"),
      ("both.example:80", "v0"),
    ] {
      let follow = try server.follow("--target", target)
      #expect(try follow.summary() == "wifi initial \(interface)", "\(target)")
    }
    let follow = try server.follow("--target", "office.example:443")
    #expect(try follow.summary() == "wifi initial w0")
    try namespace.run("ip rule del dport 443 ipproto tcp lookup 100")
    #expect(try follow.summary() == "wifi interface_changed v0")
  }

  // MARK: Other commands

  @Test func `status looks once`() throws {
    let server = try NameServer(in: Self.namespace(), "office.example,10.1.2.3", "far.example,198.51.100.7")
    for (target, summary, status) in [
      ("office.example", "wifi initial v0", 0), ("far.example", "not-reachable no_route -", 1),
      ("nowhere.example", "not-reachable unresolved -", 1),
    ] {
      let status = CInt(status)
      let once = try ChildProcess.run(server.command([Programs.netwatch, "status", "--json", "--target", target]))
      #expect(once.ending == .exited(0))
      #expect(try once.output.map { try Line($0).summary } == [summary])
      for command in [["status"], []] {
        let checked = try ChildProcess.run(
          server.command([Programs.netwatch] + command + ["--check", "--target", target]))
        #expect(checked.ending == .exited(status))
      }
    }
    let text = try ChildProcess.run(
      server.command([Programs.netwatch, "--format", "text", "--target", "nowhere.example"]))
    #expect(text.output.dropFirst().first == "  nowhere.example is not reachable: the name has no address.")
  }

  @Test func `wait waits for the host and not for the internet`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3", "far.example,198.51.100.7")
    let office = try server.netwatch("wait", "--json", "--target", "office.example")
    #expect(try office.nextLine().map(Line.init)?.summary == "wifi initial v0")
    #expect(try office.wait() == .exited(0))
    let timedOut = try ChildProcess.run(
      server.command([Programs.netwatch, "wait", "-t", "0.5", "-q", "--target", "far.example"]))
    #expect(timedOut.ending == .exited(1))
    // With `-i w*` only w0 counts, and no route over w0 leads to the address of `office.example`.
    let filtered = try ChildProcess.run(
      server.command([Programs.netwatch, "wait", "-t", "0.5", "-q", "-i", "w*", "--target", "office.example"]))
    #expect(filtered.ending == .exited(1))
    let far = try server.netwatch("wait", "--json", "--target", "far.example")
    #expect(try server.nextQuestion().name == "office.example")
    while try server.nextQuestion().name != "far.example" {}
    try namespace.run("ip route add 198.51.100.0/24 via 10.5.0.2")
    #expect(try far.nextLine().map(Line.init)?.interface == "w0")
    #expect(try far.wait() == .exited(0))
  }

  @Test func `an app with a host and an address`() throws {
    let namespace = try Self.namespace()
    let server = try NameServer(in: namespace, "office.example,10.1.2.3")
    let probe = try ChildProcess(
      server.command([Programs.probe, "targets", "office.example", "10.6.0.7", "nowhere.example"]))
    #expect(try probe.nextLine() == "office.example wifi v0")
    #expect(try probe.nextLine() == "10.6.0.7 wifi w0")
    #expect(try probe.nextLine() == "nowhere.example not-reachable -")
    #expect(try probe.nextLine() == "threads 1 netlink sockets 2")
    try namespace.run("ip link set v1 down")
    #expect(try probe.nextLine() == "office.example not-reachable -")
    try server.change(to: "office.example,10.6.2.3")
    try server.writeConfiguration()
    #expect(try probe.nextLine() == "office.example wifi w0")
    probe.closeInput()
    #expect(try probe.nextLine() == "threads 0")
    #expect(try probe.wait() == .exited(0))
  }
}
