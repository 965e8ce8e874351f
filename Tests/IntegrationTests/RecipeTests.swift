import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The recipes in contrib/examples/recipes do what they promise, with the real curl and restic.
@Suite struct RecipeTests {
  private static let recipes = FileManager.default.currentDirectoryPath + "/contrib/examples/recipes"

  /// The programs that a recipe finds first in its PATH: netwatch, and scripts in place of other programs.
  private final class Programs {
    let folder: TemporaryFolder

    init() throws {
      folder = try TemporaryFolder()
      try folder.makeFolder("bin")
      try add("netwatch", "exec '\(IntegrationTests.Programs.netwatch)' \"$@\"")
    }

    /// Adds a script in place of a program.
    func add(_ name: String, _ script: String) throws {
      try folder.installScript(script, as: "bin/\(name)")
    }

    /// Adds a script that only records its name and its arguments, one a line.
    func addRecorder(_ name: String) throws {
      try add(name, "printf '%s\\n' '\(name)' \"$@\" >>'\(folder.file("calls"))'")
    }

    var calls: [String] { folder.text(of: "calls").split(separator: "\n").map(String.init) }

    var environment: [String] {
      let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
      return ["PATH=\(folder.file("bin")):\(path)", "HOME=\(folder.path)"]
    }
  }

  private func run(
    _ namespace: NetworkNamespace, _ programs: Programs, _ command: [String], _ environment: [String] = []
  ) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
    try ChildProcess.run(namespace.command(command), environment: programs.environment + environment)
  }

  /// Starts a web server in the namespace that gives each request the same answer.
  private func serve(_ namespace: NetworkNamespace, _ answer: String) throws -> AnswerServer {
    try namespace.run("ip addr add 10.9.0.1/32 dev lo")
    return try AnswerServer(in: namespace, answering: answer)
  }

  @Test func `a backup by restic runs only over a network that costs nothing`() throws {
    let namespace = try NetworkNamespace.online()
    let programs = try Programs()
    let folder = programs.folder
    try folder.write("a letter", to: "documents/letter")
    let restic = ["restic", "--quiet", "--repo", folder.file("repository")]
    let secret = ["RESTIC_PASSWORD=secret", "XDG_CACHE_HOME=\(folder.file("cache"))"]
    #expect(try run(namespace, programs, restic + ["init"], secret).ending == .exited(0))
    func backup() throws -> ChildProcess.Ending {
      try run(
        namespace, programs, ["\(Self.recipes)/backup-unmetered"] + restic + ["backup", folder.file("documents")],
        secret
      ).ending
    }
    func snapshots() throws -> Int {
      let listed = try run(namespace, programs, restic + ["snapshots", "--json"], secret)
      return (try JSONSerialization.jsonObject(with: Data(listed.output.joined().utf8)) as? [Any])?.count ?? 0
    }
    #expect(try backup() == .exited(0))
    #expect(try snapshots() == 1)
    try programs.add("netwatch", "exec '\(IntegrationTests.Programs.netwatch)' --expensive 'v*' \"$@\"")
    #expect(try backup() == .exited(75))
    try programs.add("netwatch", "exec '\(IntegrationTests.Programs.netwatch)' \"$@\"")
    try namespace.run("ip link set v1 down")
    #expect(try backup() == .exited(75))
    #expect(try snapshots() == 1)
  }

  /// systemd cannot run in a test. The test runs the command of the unit and looks at the exit status, as systemd does.
  @Test func `the condition of the unit is one that netwatch understands`() throws {
    let namespace = try NetworkNamespace.online()
    let unit = try String(contentsOfFile: "\(Self.recipes)/restic-unmetered.service", encoding: .utf8)
    let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecCondition=/usr/bin/netwatch ") })
    let words = line.split(separator: " ").dropFirst().map(String.init)
    func condition() throws -> ChildProcess.Ending {
      try ChildProcess.run(namespace.command([IntegrationTests.Programs.netwatch] + words)).ending
    }
    #expect(try condition() == .exited(0))
    let tunnel = try namespace.addTunnel("tun7")
    try namespace.run("ip route replace default dev tun7")
    #expect(try condition() == .exited(1))
    tunnel.signal(SIGKILL)
  }

  @Test func `dynamic DNS is told of each other address`() throws {
    let namespace = try NetworkNamespace.online()
    let programs = try Programs()
    let server = try serve(namespace, "200 good")
    try programs.folder.makeFolder("hooks")
    _ = unsafe chmod(programs.folder.file("hooks"), 0o755)
    let copied = try ChildProcess.run([
      "install", "-m", "755", "\(Self.recipes)/dynamic-dns", programs.folder.file("hooks"),
    ])
    #expect(copied.ending == .exited(0))
    try programs.folder.write("machine 10.9.0.1 login me password secret\n", to: ".netrc")
    let follow = try Follow(
      ChildProcess(
        namespace.command([
          IntegrationTests.Programs.netwatch, "-f", "--json", "--hooks", programs.folder.file("hooks"),
        ]),
        environment: programs.environment + [
          "DYNAMIC_DNS_URL=http://10.9.0.1/nic/update", "DYNAMIC_DNS_NAME=home.example.org",
        ]))
    let first = try server.nextRequest()
    #expect(first.hasPrefix("GET /nic/update?hostname=home.example.org&myipv6= HTTP/1.1|"), "\(first)")
    #expect(first.contains("|Authorization: Basic bWU6c2VjcmV0|"))
    // The network is lost and comes back with other addresses than before.
    try namespace.run("ip link set v1 down")
    while try follow.next().status != "not-reachable" {}
    try namespace.run(
      "ip -6 addr add 2001:db8:7::1/64 dev v0 nodad", "ip -6 route add default via 2001:db8:7::2 dev v0")
    try namespace.run("ip link set v1 up")
    var request = try server.nextRequest()
    while !request.contains("myipv6=2001%3adb8%3a7%3a%3a1"), !request.contains("myipv6=2001%3Adb8%3A7%3A%3A1") {
      request = try server.nextRequest()
    }
    withExtendedLifetime(follow) {}
  }

  @Test func `dynamic DNS is told of nothing else`() throws {
    let programs = try Programs()
    try programs.addRecorder("curl")
    func calls(_ now: [String: String], after old: [String: String]) throws -> Int {
      try? programs.folder.remove("calls")
      var variables: [String] = []
      for name in ["IPV4", "IPV6", "VPN"] {
        variables += ["NETWATCH_\(name)=\(now[name] ?? "")", "NETWATCH_OLD_\(name)=\(old[name] ?? "")"]
      }
      let result = try ChildProcess.run(
        ["\(Self.recipes)/dynamic-dns"], environment: programs.environment + variables)
      #expect(result.ending == .exited(0) && result.error == "")
      return programs.calls.count { $0 == "curl" }
    }
    #expect(try calls(["IPV4": "10.0.0.1"], after: [:]) == 1)
    #expect(try calls(["IPV4": "10.0.0.1"], after: ["IPV4": "10.0.0.1"]) == 0)
    #expect(try calls([:], after: ["IPV4": "10.0.0.1"]) == 0)
    #expect(try calls(["IPV4": "10.8.0.2", "VPN": "tun7"], after: ["IPV4": "10.0.0.1"]) == 0)
    #expect(try calls(["IPV4": "10.0.0.1"], after: ["IPV4": "10.8.0.2", "VPN": "tun7"]) == 1)
    #expect(try calls(["IPV4": "10.0.0.1", "IPV6": "2001:db8::1"], after: ["IPV4": "10.0.0.1"]) == 1)
  }

  @Test func `targets come and go with the network`() throws {
    let namespace = try NetworkNamespace.online()
    let programs = try Programs()
    try programs.addRecorder("systemctl")
    let hook = "\(Self.recipes)/../../packaging/systemd/targets"
    let follow = try Follow(
      ChildProcess(
        namespace.command([IntegrationTests.Programs.netwatch, "-f", "--json", "--exec", "'\(hook)'; echo done"]),
        environment: programs.environment))
    func expectCalls(_ calls: [String]) throws {
      #expect(try follow.process.nextErrorLine() == "done")
      #expect(programs.calls == calls)
    }
    func calls(_ verb: String) -> [String] {
      ["reachable", "unmetered"].flatMap { ["systemctl", "--user", "--no-block", verb, "network-\($0).target"] }
    }
    let (start, stop) = (calls("start"), calls("stop"))
    try expectCalls(start)
    // A new address does not change the status.
    try namespace.run("ip addr add 10.0.0.9/24 dev v0", "ip route change default via 10.0.0.2 src 10.0.0.9")
    try expectCalls(start)
    try namespace.run("ip link set v1 down")
    try expectCalls(start + stop)
  }

  @Test func `a network that costs money starts one target of two`() throws {
    let namespace = try NetworkNamespace.online()
    let programs = try Programs()
    try programs.addRecorder("systemctl")
    let follow = try Follow(
      ChildProcess(
        namespace.command([
          IntegrationTests.Programs.netwatch, "-f", "--json", "--expensive", "v0", "--exec",
          "'\(Self.recipes)/../../packaging/systemd/targets'; echo done",
        ]), environment: programs.environment))
    #expect(try follow.process.nextErrorLine() == "done")
    let call = ["systemctl", "--user", "--no-block"]
    #expect(
      programs.calls == call + ["start", "network-reachable.target"] + call + ["stop", "network-unmetered.target"])
  }

  @Test func `the public address is asked for once, and nothing else is printed`() throws {
    let namespace = try NetworkNamespace.online()
    let programs = try Programs()
    let server = try serve(namespace, "200 203.0.113.7")
    func ask() throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
      try run(namespace, programs, ["\(Self.recipes)/public-ip", "http://10.9.0.1/"])
    }
    let found = try ask()
    #expect(found.ending == .exited(0) && found.output == ["203.0.113.7"], "\(found)")
    try server.answer("200 2001:db8::7")
    #expect(try ask().output == ["2001:db8::7"])
    for answer in ["200 $(touch pwned)", "200 \u{1b}[31m1.2.3.4", "200 <html>login</html>", "200 1.2.3.4;id", "404"] {
      try server.answer(answer)
      let result = try ask()
      #expect(result.ending == .exited(1) && result.output == [], "\(answer): \(result)")
    }
    try namespace.run("ip link set v1 down")
    try programs.add("netwatch", "exec '\(IntegrationTests.Programs.netwatch)' \"$1\" --quiet --timeout 0.1")
    let offline = try ask()
    #expect(offline.ending == .exited(1) && offline.error == "public-ip: the network is not reachable")
  }

  @Test func `a notification says what has changed`() throws {
    let programs = try Programs()
    try programs.addRecorder("notify-send")
    for options in [["--ssid=-x $(id) `id` \"'"], ["--status", "not-reachable"], ["--status", "wwan"]] {
      let result = try ChildProcess.run(
        [IntegrationTests.Programs.netwatch, "test-hook", "\(Self.recipes)/tell-network"] + options,
        environment: programs.environment)
      #expect(result.ending == .exited(0), "\(result)")
    }
    #expect(
      programs.calls == [
        "notify-send", "--", "online", "-x $(id) `id` \"'", "notify-send", "--", "offline", "no_carrier", "notify-send",
        "--", "online", "wwan0",
      ])
  }
}
