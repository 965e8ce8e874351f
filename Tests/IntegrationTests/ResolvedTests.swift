import Foundation
import NetwatchTestSupport
import Testing

/// systemd-resolved, as it really runs: what is said if it fails or its servers do, and lookups by it.
@Suite struct ResolvedTests {
  /// A network with a name server at 10.0.0.2, and a machine whose programs ask systemd-resolved. The files of the machine are those of a
  /// mount namespace that the process `machine` holds.
  private final class Machine {
    let networks: TwoNetworks
    let folder: TemporaryFolder
    private let holder: ChildProcess
    private let holderID: String
    private var resolved: ChildProcess?

    /// - Parameter settings: Lines of resolved.conf(5).
    init(_ settings: String = "") throws {
      networks = try TwoNetworks()
      folder = try TemporaryFolder()
      for program in ["systemd-resolved", "dnsmasq"] { try requireProgram(program) }
      try folder.makeFolder("etc/systemd")
      try networks.near.run("cp /etc/ld.so.cache '\(folder.file("etc"))'")
      // In a user namespace there is no other user that it could become.
      try folder.write("root:x:0:0::/:/bin/sh\nsystemd-resolve:x:0:0::/:/bin/sh\n", to: "etc/passwd")
      try folder.write("root:x:0:\nsystemd-resolve:x:0:\n", to: "etc/group")
      try folder.write("nameserver 127.0.0.53\n", to: "etc/resolv.conf")
      try folder.write(
        "hosts: files resolve [!UNAVAIL=return] dns\npasswd: files\ngroup: files\n", to: "etc/nsswitch.conf")
      try folder.write("127.0.0.1 localhost\n10.1.2.3 printer\n", to: "etc/hosts")
      try folder.write(
        "[Resolve]\nDNS=10.0.0.2\nFallbackDNS=\nLLMNR=no\nMulticastDNS=no\nDNSSEC=no\nCache=no\n\(settings)\n",
        to: "etc/systemd/resolved.conf")
      holder = try ChildProcess(
        networks.near.command([
          "unshare", "--mount", "sh", "-c",
          """
          mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/resolve && mount --bind '\(folder.file("etc"))' /etc &&
          ip link set lo up && echo $$ && exec cat
          """,
        ]))
      holderID = try holder.nextLine() ?? ""
    }

    /// Starts a name server at 10.0.0.2 that knows probe.example.
    func nameServer() throws -> ChildProcess {
      let server = try ChildProcess(
        networks.far.command([
          "dnsmasq", "--no-daemon", "--conf-file=/dev/null", "--pid-file=", "--user=root", "--group=root",
          "--no-resolv",
          "--no-hosts", "--bind-interfaces", "--listen-address=10.0.0.2", "--address=/probe.example/10.0.0.2",
        ]))
      try networks.far.run("until ss -Hlun | grep -q '10.0.0.2:53'; do sleep 0.02; done")
      return server
    }

    func command(_ words: [String]) -> [String] {
      networks.near.command(["nsenter", "--target", holderID, "--mount", "--"] + words)
    }

    func startResolved() throws {
      resolved = try ChildProcess(command(["systemd-resolved"]))
      try networks.near.run("until ss -Hlun | grep -q '127.0.0.53'; do sleep 0.02; done")
    }

    /// Kills systemd-resolved, whose configuration stays.
    func killResolved() throws {
      resolved?.signal(SIGKILL)
      _ = try resolved?.wait()
    }

    func follow(_ options: String...) throws -> Follow {
      try Follow(ChildProcess(command([Programs.netwatch, "--follow", "--json", "--no-service"] + options)))
    }
  }

  private func finding(_ line: Line) -> String {
    let stage = (line.object["stages"] as? [String: Any])?["dns"] as? [String: Any]
    return "\(stage?["evidence"] as? String ?? "?") \(stage?["address"] as? String ?? "-")"
  }

  private func read(_ follow: Follow, until wanted: String) throws -> Line {
    while true {
      let line = try follow.next()
      if finding(line) == wanted { return line }
    }
  }

  @Test func `a dead resolver, a dead server and a healthy one are told apart`() throws {
    let machine = try Machine()
    let server = try machine.nameServer()
    try machine.startResolved()
    let follow = try machine.follow("--stages", "--probe", "http://probe.example/", "--probe-interval", "1")
    _ = try read(follow, until: "answered 10.0.0.2")
    // The server itself answers still, and nobody accuses it.
    try machine.killResolved()
    let failed = try read(follow, until: "resolver_failed 10.0.0.2")
    #expect((failed.object["stages"] as? [String: Any])?["failing"] as? String == "dns")
    try machine.startResolved()
    _ = try read(follow, until: "answered 10.0.0.2")
    server.signal(SIGKILL)
    _ = try server.wait()
    _ = try read(follow, until: "no_answer 10.0.0.2")
    // The probe ends before the name servers have been asked, and the only line waits for both.
    let words = try ChildProcess.run(
      machine.command([Programs.netwatch, "status", "--no-service", "--stages", "--probe", "http://probe.example/"]))
    #expect(words.output.contains { $0.contains("10.0.0.2 does not answer") }, "\(words.output)")
  }

  @Test func `DNS over TLS that is blocked is told, where plain DNS works`() throws {
    let machine = try Machine("DNSOverTLS=yes")
    let server = try machine.nameServer()
    try machine.startResolved()
    let options = ["status", "--no-service", "--stages", "--probe", "http://probe.example/"]
    // The result of the stage comes before that of the probe, which waits longer.
    let follow = try machine.follow("--stages", "--probe", "http://probe.example/", "--probe-interval", "1")
    _ = try read(follow, until: "tls_failed 10.0.0.2")
    let words = try ChildProcess.run(machine.command([Programs.netwatch] + options))
    #expect(
      words.output.contains { $0.contains("no answer over TLS, though 10.0.0.2 has one by plain DNS") },
      "\(words.output)")
    // The stage that fails stays the same, so the program that follows has no line about it.
    try machine.killResolved()
    let other = try machine.follow("--stages", "--probe", "http://probe.example/", "--probe-interval", "1")
    _ = try read(other, until: "resolver_failed 10.0.0.2")
    withExtendedLifetime(server) {}
  }

  @Test func `a name that only the system knows is asked of it, and no program is started`() throws {
    let machine = try Machine()
    try machine.startResolved()
    try machine.networks.near.run(
      "printf '#!/bin/sh\\necho started >>\(machine.folder.file("started"))\\n' >'\(machine.folder.file("getent"))'")
    try machine.networks.near.run("chmod 755 '\(machine.folder.file("getent"))'")
    _ = try ChildProcess.run(
      machine.command(["mount", "--bind", machine.folder.file("getent"), "/usr/bin/getent"]))
    let follow = try machine.follow("--target", "printer")
    var line = try follow.next()
    while line.status == "unknown" { line = try follow.next() }
    #expect(line.status == "wifi")
    #expect(!FileManager.default.fileExists(atPath: machine.folder.file("started")))
  }
}
