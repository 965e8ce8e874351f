import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `--exec`: what a hook is told, and that a hook disturbs nobody.
@Suite struct HookTests {
  private func follow(_ namespace: NetworkNamespace, _ hook: String, _ options: String...) throws -> Follow {
    try Follow(ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--exec", hook] + options)))
  }

  @Test func `a hook gets the line, and what matters of it in its environment`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(
      namespace,
      "read -r line; echo \"$line\"; echo \"$NETWATCH_STATUS|$NETWATCH_MEDIUM|$NETWATCH_INTERFACE|$NETWATCH_EVENT|"
        + "$NETWATCH_REASON|$NETWATCH_VISIBLE\"; echo end")
    for (expected, next) in [
      ("wifi|virtual|v0|initial|initial|false", "ip link set v1 down"),
      ("not-reachable|||reachability|no_carrier|false", "ip link set v1 up"),
      ("wifi|virtual|v0|reachability|route_up|false", "true"),
    ] {
      let line = try follow.next()
      #expect(try follow.process.nextErrorLine() == line.text)
      #expect(try follow.process.nextErrorLine() == expected)
      #expect(try follow.process.nextErrorLine() == "end")
      try namespace.run(next)
    }
  }

  @Test func `a hook gets everything that decides, and the values before`() throws {
    let namespace = try NetworkNamespace.online()
    let names = ["STATUS", "IPV4", "IPV6", "GATEWAY", "SSID", "VPN", "EXPENSIVE", "REASON", "VISIBLE"]
    let values = ["", "OLD_"].map { old in names.map { "${NETWATCH_\(old)\($0)-unset}" }.joined(separator: "|") }
    let follow = try follow(namespace, "echo \"\(values[0])\"; echo \"\(values[1])\"", "--not-expensive", "*")
    let none = "||||||||"
    let first = "wifi|10.0.0.1||10.0.0.2|||false|initial|false"
    let offline = "not-reachable|||||||no_carrier|false"
    for (now, old, next) in [
      (first, none, "ip link set v1 down"), (offline, first, "ip link set v1 up"),
      ("wifi|10.0.0.1||10.0.0.2|||false|route_up|false", offline, "ip -6 addr add fd00:7::1/64 dev v0 nodad"),
    ] {
      #expect(try follow.process.nextErrorLine() == now)
      #expect(try follow.process.nextErrorLine() == old)
      try namespace.run(next)
    }
    // From now on only IPv6 leads out.
    try namespace.run("ip route del default; ip -6 route add default via fd00:7::2")
    var last = ""
    while !last.hasPrefix("wifi||fd00:7::1|fd00:7::2|||false|") { last = try follow.process.nextErrorLine() ?? "" }
    let program = try namespace.addTunnel("tun7")
    try namespace.run("ip route add default dev tun7")
    while !last.hasPrefix("wifi|10.8.0.2|") { last = try follow.process.nextErrorLine() ?? "" }
    #expect(last.contains("|tun7|"))
    program.signal(SIGKILL)
  }

  @Test func `one at a time; what comes meanwhile is the newest`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    #expect(unsafe mkfifo(folder.file("gate"), 0o600) == 0)
    let follow = try follow(
      namespace, "echo \"begin $NETWATCH_STATUS $NETWATCH_REASON\"; cat \(folder.file("gate")); echo end", "--count",
      "4")
    _ = try follow.next()
    #expect(try follow.process.nextErrorLine() == "begin wifi initial")
    for (change, status) in [("down", "not-reachable"), ("up", "wifi")] {
      try namespace.run("ip link set v1 \(change)")
      #expect(try follow.next().status == status)
    }
    try namespace.run("ip route del default")
    #expect(try follow.next().summary == "not-reachable no_route -")
    // The last line is printed, and the hook of the first line still waits at the gate.
    for expected in [["end", "begin not-reachable no_route"], ["end"]] {
      try "".write(toFile: folder.file("gate"), atomically: false, encoding: .utf8)
      for line in expected { #expect(try follow.process.nextErrorLine() == line) }
    }
    #expect(try follow.process.wait() == .exited(0))
    #expect(try follow.process.errorText() == "")
  }

  /// Scripts that print the IDs of their two processes and then run for a long time. They differ in which of the
  /// processes ignore SIGTERM.
  private static let endless = [
    "sleep 1000 & echo $$ $!; wait; wait; sleep 1000",
    "trap '' TERM; sleep 1000 & echo $$ $!; wait; wait; sleep 1000",
    "(trap '' TERM; exec sleep 1000) & echo $$ $!; wait",
    "trap 'exit 0' TERM; (trap '' TERM; exec sleep 1000) & echo $$ $!; wait",
  ]

  /// Waits until a script has printed the IDs of its processes, and returns them.
  private static func pids(_ process: ChildProcess) throws -> [pid_t] {
    let pids = try #require(try process.nextErrorLine()).split(separator: " ").compactMap { pid_t($0) }
    #expect(pids.count == 2)
    return pids
  }

  /// Waits until the processes have ended. A process that only waits to be collected by the init of this machine counts
  /// as ended. Those that still run are killed at the end.
  private static func waitForEnd(of pids: [pid_t], at place: SourceLocation = #_sourceLocation) throws {
    defer { for pid in pids where isAlive(pid) { kill(pid, SIGKILL) } }
    try eventually(pids.filter(isAlive), at: place) { $0.isEmpty }
  }

  @Test(arguments: endless)
  func `a hook that takes too long is ended, with all that it has started`(script: String) throws {
    let namespace = try NetworkNamespace.online()
    // On a busy machine a script may be ended before it has printed its IDs. If so, it gets more time.
    var (timeout, pids, said) = (0.2, [pid_t](), "")
    while pids.isEmpty {
      let follow = try follow(namespace, script, "--exec-timeout", "\(timeout)", "--count", "1")
      _ = try follow.next()
      #expect(try follow.process.wait() == .exited(0))
      let lines = try follow.process.errorText().split(separator: "\n")
      said = lines.last.map(String.init) ?? ""
      pids = lines.dropLast().flatMap { $0.split(separator: " ").compactMap { pid_t($0) } }
      timeout *= 3
      try #require(timeout < 60, "the script prints nothing")
    }
    #expect(pids.count == 2)
    #expect(
      said.hasPrefix("netwatch: the command of --exec took longer than --exec-timeout permits and was ended: "),
      "\(said)")
    #expect(["signal 15", "signal 9", "exit status 0"].contains { said.hasSuffix(": \($0)") }, "\(said)")
    // When netwatch has ended, no process of the hook runs any more.
    for pid in pids { #expect(!Self.isAlive(pid)) }
    try Self.waitForEnd(of: pids)
  }

  enum End: CaseIterable { case term, interrupt, hangUp, kill, reader }

  @Test(arguments: End.allCases)
  func `a hook does not outlive netwatch, however that ends`(end: End) throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace, Self.endless[2])
    _ = try follow.next()
    let pids = try Self.pids(follow.process)
    // A later line shows that netwatch has finished starting the hook.
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    let expected: ChildProcess.Ending
    switch end {
    case .term: expected = .signalled(SIGTERM)
    case .interrupt: expected = .signalled(SIGINT)
    case .hangUp: expected = .signalled(SIGHUP)
    case .kill: expected = .signalled(SIGKILL)
    case .reader: expected = .exited(0)
    }
    if case .signalled(let signal) = expected { follow.process.signal(signal) } else { follow.process.closeOutput() }
    #expect(try follow.process.wait() == expected)
    try Self.waitForEnd(of: pids)
  }

  @Test(arguments: [SIGTERM, SIGKILL])
  func `a hook does not outlive the service`(signal: CInt) throws {
    let service = try RunningService("--exec", Self.endless[2])
    let pids = try Self.pids(service.process)
    // An answer to a client shows that the service has finished starting the hook.
    _ = try service.client().next()
    service.process.signal(signal)
    _ = try service.process.wait()
    try Self.waitForEnd(of: pids)
  }

  @Test func `a hook that has left something behind in time may do so`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([
        Programs.netwatch, "-f", "--count", "1", "--exec",
        "(while kill -0 $PPID 2>/dev/null; do sleep 0.01; done; echo still here) &",
      ]))
    #expect(result.ending == .exited(0))
    #expect(result.error == "still here")
  }

  @Test func `a hook that fails is told of with its status, but not for each line`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    try folder.makeFolder("hooks")
    try folder.installScript("exit 4", as: "hooks/a\u{1b}[31m")
    let follow = try follow(
      namespace, "[ $NETWATCH_STATUS = wifi ] && exit 3; kill -9 $$", "--hooks", folder.file("hooks"), "--count", "4")
    let own = "netwatch: the command of --exec has failed: "
    _ = try follow.next()
    #expect(try follow.process.nextErrorLine() == own + "exit status 3")
    #expect(
      try follow.process.nextErrorLine()
        == "netwatch: the hook '\(folder.file("hooks/a?[31m"))' has failed: exit status 4")
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    #expect(try follow.process.nextErrorLine() == own + "signal 9")
    for change in ["up", "down"] {
      try namespace.run("ip link set v1 \(change)")
      _ = try follow.next()
    }
    #expect(try follow.process.errorText() == "")
    #expect(try follow.process.wait() == .exited(0))
  }

  @Test func `the last hook is waited for, also if the reader goes first`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    #expect(unsafe mkfifo(folder.file("gate"), 0o600) == 0)
    let follow = try follow(namespace, "echo begin; cat \(folder.file("gate")); echo end", "--count", "1")
    _ = try follow.next()
    #expect(try follow.process.nextErrorLine() == "begin")
    follow.process.closeOutput()
    try "".write(toFile: folder.file("gate"), atomically: false, encoding: .utf8)
    #expect(try follow.process.nextErrorLine() == "end")
    #expect(try follow.process.wait() == .exited(0))
  }

  private static func isAlive(_ pid: pid_t) -> Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    return text.split(separator: ")").last?.hasPrefix(" Z") != true
  }

  @Test func `what a hook says does not disturb the stream`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try follow(namespace, "yes | head -c 10000; echo; exit 3", "--count", "3")
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.process.nextLine() == nil)
    #expect(try follow.process.errorText().hasPrefix("y\ny\n"))
    #expect(try follow.process.wait() == .exited(0))
  }

  @Test func `a hook that does not read, or does not exist, holds up nobody`() throws {
    let namespace = try NetworkNamespace.online()
    for hook in ["true", "exec <&-; sleep 0.01", "netwatch-no-such-command", "kill -9 $$"] {
      let follow = try follow(namespace, hook, "--count", "2")
      #expect(try follow.next().status == "wifi")
      try namespace.run("ip link set v1 down")
      #expect(try follow.next().status == "not-reachable")
      #expect(try follow.process.wait() == .exited(0), "\(hook)")
      try namespace.run("ip link set v1 up")
      // The next hook must find the network as this one did.
      try namespace.waitUntilRunning("v0")
    }
  }

  @Test func `the last hook is waited for`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.netwatch, "-f", "--count", "1", "--exec", "sleep 0.3; echo done"]))
    #expect(result.ending == .exited(0))
    #expect(result.output.count == 1)
    #expect(result.error == "done")
  }

  @Test func `whoever ignores the ends of children does not stop the hooks`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([
        Programs.sandbox, "sigchld", Programs.netwatch, "-f", "--count", "1", "--exec", "sleep 0.1; echo done",
      ]))
    #expect(result.ending == .exited(0))
    #expect(result.error == "done")
  }

  @Test func `a link's name is not for a shell`() throws {
    let namespace = try NetworkNamespace.withPair()
    let folder = try TemporaryFolder()
    try namespace.run(
      "name='$(>x);`>y`;>z'; ip link add \"$name\" type veth peer name p9; ip link set p9 up; ip link set \"$name\" up; "
        + "ip addr add 10.7.0.1/24 dev \"$name\"; ip route add default via 10.7.0.2")
    let result = try ChildProcess.run(
      namespace.command([
        "sh", "-c",
        "cd \(folder.path) && exec \(Programs.netwatch) -f --count 1 --exec 'echo \"$NETWATCH_INTERFACE\"; cat'",
      ]))
    #expect(result.error.hasPrefix("$(>x);`>y`;>z\n{"), "\(result.error)")
    #expect(try folder.names == [])
  }

  @Test func `a hook has the environment of netwatch, and no descriptor of it`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([
        Programs.netwatch, "-f", "--count", "1", "--exec",
        "echo $VALUE; env | grep -c ^NETWATCH_STATUS; ls /proc/self/fd",
      ]), environment: ["VALUE=a value", "NETWATCH_STATUS=false friend"])
    // A program without netwatch has the same descriptors, whatever the test was started with.
    let plain = try ChildProcess.run(namespace.command(["sh", "-c", "ls /proc/self/fd"]))
    #expect(result.error.split(separator: "\n").map(String.init) == ["a value", "1"] + plain.output)
  }

  @Test func `a hook runs when a request begins, and when the indicator is shown`() throws {
    let service = try RunningService()
    let follow = try Follow(
      ChildProcess(
        service.namespace.command([
          Programs.netwatch, "-f", "--json", "--exec", "echo $NETWATCH_EVENT $NETWATCH_REASON $NETWATCH_VISIBLE",
        ]), environment: service.environment))
    #expect(try follow.process.nextErrorLine() == "initial initial false")
    let client = try service.client()
    client.send("{\"begin\":\"a\"}")
    #expect(try follow.process.nextErrorLine() == "activity request_began false")
    #expect(try follow.process.nextErrorLine() == "activity activation_delay true")
  }

  /// The README's command for notifications must also show a text when the network is lost.
  @Test func `the notification of README has a text for every change`() throws {
    let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
    let readme = try String(contentsOf: top.appending(path: "README.md"), encoding: .utf8)
    let command = try #require(readme.firstMatch(of: /netwatch -f --exec '(notify-send .*)'/)?.output.1)
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    try folder.installScript(
      "for word; do printf '[%s]' \"$word\"; done >>'\(folder.file("shown"))'; echo >>'\(folder.file("shown"))'",
      as: "notify-send")
    let follow = try ChildProcess(
      namespace.command([Programs.netwatch, "-f", "--exec", String(command)]),
      environment: ["PATH=\(folder.path):\(ProcessInfo.processInfo.environment["PATH"] ?? "/bin")"])
    func shown() -> [String] { folder.text(of: "shown").split(separator: "\n").map(String.init) }
    try eventually(shown()) { $0.last == "[Online over v0, a virtual interface.]" }
    try namespace.run("ip link set v1 down")
    try eventually(shown()) { $0.last == "[Offline: v0 has no carrier; its other end is missing.]" }
    try namespace.run("ip link set v1 up")
    try eventually(shown()) { $0.count == 3 && $0.last == "[Online over v0, a virtual interface.]" }
    withExtendedLifetime(follow) {}
  }

  @Test func `what was lost stays in the lines until something is reachable again`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.next().object["lost"] == nil)
    try namespace.run("ip link set v1 down")
    #expect((try follow.next().object["lost"] as? [String: Any])?["interface"] as? String == "v0")
    let service = try RunningService(in: namespace)
    // A service that has seen nothing reachable has lost nothing.
    #expect(try service.client().next().object["lost"] == nil)
    try namespace.run("ip link set v1 up")
    #expect(try follow.next().object["lost"] == nil)
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.1.0.1/24 dev w0",
      "ip route add default via 10.1.0.2 metric 5; ip route del default via 10.0.0.2")
    var line = try follow.next()
    while line.interface != "w0" { line = try follow.next() }
    #expect((line.object["lost"] as? [String: Any])?["interface"] as? String == "v0")
    #expect(line.object["sentence"] as? String == "Online over w0, a virtual interface, and no longer over v0.")
    try namespace.run("ip link set w1 down")
    line = try follow.next()
    while line.status != "not-reachable" { line = try follow.next() }
    #expect((line.object["lost"] as? [String: Any])?["interface"] as? String == "w0")
    // A client that connects while nothing is reachable learns from the service what was lost.
    let client = try service.client()
    while try (client.next().object["lost"] as? [String: Any])?["interface"] as? String != "w0" {}
  }
}
