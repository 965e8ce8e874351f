import CLinux
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of the command as a person or a status bar uses it: options, lines, exit statuses, and readers that leave.
@Suite struct CommandTests {
  // MARK: Readers

  @Test func `the reader wants one line and goes`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command(["bash", "-c", "\(Programs.netwatch) --follow --json | head -1; echo ${PIPESTATUS[0]}"]))
    #expect(result.output.count == 2)
    #expect(try Line(result.output[0]).summary == "wifi initial v0")
    #expect(result.output.last == "0")
    #expect(result.error == "")
  }

  /// netwatch writes the same into a pipe, a file and a terminal: text for people, unless JSON is asked for.
  @Test func `a pipe gets text, one line for each change`() throws {
    let namespace = try NetworkNamespace.online()
    let once = try ChildProcess.run(namespace.command(["sh", "-c", "\(Programs.netwatch) | cat"]))
    #expect(once.output.first?.hasSuffix("  v0  10.0.0.1") == true, "\(once.output)")
    #expect(once.output.dropFirst().first?.hasPrefix("  Online over v0") == true, "\(once.output)")
    let follow = try namespace.netwatch("--follow")
    let first = try #require(try follow.nextLine())
    #expect(first.contains(" v0 ") && !first.contains("{"), "\(first)")
    try namespace.run("ip link set v1 down")
    #expect(try follow.nextLine()?.hasSuffix("no carrier") == true)
    try namespace.run("ip link set v1 up")
    #expect(try follow.nextLine()?.contains("route up") == true)
  }

  /// With one line an hour, no write can fail in this test. So netwatch must see by itself that its reader has left.
  @Test(
    arguments: [[], ["sigpipe"]],
    [([], 1), (["--traffic", "--traffic-interval", "0.1"], 3), (["--traffic", "--traffic-interval", "3600"], 1)])
  func `the reader goes while nothing happens`(sandbox: [String], _ follow: (options: [String], lines: Int)) throws {
    let namespace = try NetworkNamespace.online()
    let prefix = sandbox.isEmpty ? [] : [Programs.sandbox] + sandbox
    let child = try ChildProcess(
      namespace.command(prefix + [Programs.netwatch, "--follow", "--json"] + follow.options))
    for _ in 0..<follow.lines { #expect(try child.nextLine().map(Line.init)?.status == "wifi") }
    child.closeOutput()
    #expect(try child.wait() == .exited(0))
    #expect(try child.errorText() == "")
  }

  /// /dev/full takes nothing. /mnt/lines has room for some short lines, or for one long line and a part of the next
  /// one.
  @Test(
    arguments: ["/dev/full", "/mnt/lines"],
    [
      ["--follow", "--traffic", "--traffic-interval", "0.1"],
      ["--follow", "--json", "--quality", "--no-service"], ["top"], ["top", "--json"],
    ])
  func `the disk is full`(file: String, arguments: [String]) throws {
    let namespace = try NetworkNamespace.withPair(withSysfs: true)
    try namespace.run(
      "mount -t tmpfs -o size=4k none /mnt", "head -c 3500 /dev/zero >/mnt/lines", "ip addr add 10.0.0.1/24 dev v0",
      "ip route add default via 10.0.0.2")
    let child = try ChildProcess(
      namespace.command(["sh", "-c", "exec \"$@\" >>\(file)", "sh", Programs.netwatch] + arguments))
    #expect(try child.wait() == .exited(2))
    #expect(try child.errorText() == "netwatch: cannot write to standard output: No space left on device")
  }

  @Test(arguments: [
    ["--help"], ["--help-all"], ["--version"], ["wait", "--help"], ["get", "--help"], ["log", "--help"],
  ])
  func `a help that cannot be written is an error`(arguments: [String]) throws {
    let result = try ChildProcess.run(["sh", "-c", "exec \"$@\" >/dev/full", "sh", Programs.netwatch] + arguments)
    #expect(result.ending == .exited(2))
    #expect(result.error == "netwatch: cannot write to standard output: No space left on device")
  }

  @Test(arguments: [["wait", "-t", "-1"], ["-f", "--hold", "-1"], ["-f", "--hold=-1"]])
  func `a negative value is refused as a value`(arguments: [String]) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.error.contains("'-1' is not a time, 0 or more; write seconds such as 2 or 0.5, or 30s, 5m or 1h."))
  }

  @Test func `standard output is closed`() throws {
    let result = try ChildProcess.run([Programs.sandbox, "stdout", Programs.netwatch, "--follow"])
    #expect(result.ending == .exited(2))
    #expect(result.error.contains("standard output is closed"))
  }

  @Test func `with standard output on dev null it runs on`() throws {
    let namespace = try NetworkNamespace.online()
    let null = unsafe open("/dev/null", O_WRONLY)
    defer { close(null) }
    let child = try ChildProcess(
      namespace.command([Programs.netwatch, "--follow", "--count", "2"]), standardOutput: .descriptor(null))
    // When the process is idle, it has written its first line. Nobody reads /dev/null, and still nobody has left.
    try child.waitUntilIdle()
    #expect(try child.endIfOver() == nil)
    try namespace.run("ip link set v1 down")
    #expect(try child.wait() == .exited(0))
  }

  @Test func `the end of standard input does not end it`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.next().status == "wifi")
    follow.process.closeInput()
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
  }

  @Test func `stopped, five thousand changes, continued: one line, and it is right`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.next().status == "wifi")
    follow.process.signal(SIGSTOP)
    try namespace.run(
      "for i in $(seq 2500); do echo route del default; echo route add default via 10.0.0.2; done | ip -batch -",
      "ip route del default")
    follow.process.signal(SIGCONT)
    #expect(try follow.next().status == "not-reachable")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
  func `a signal ends it, by that signal`(signal: CInt) throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    _ = try follow.next()
    follow.process.signal(signal)
    #expect(try follow.process.wait() == .signalled(signal))
  }

  // MARK: Wrong use

  @Test(arguments: [
    (["--folow"], "--follow"), (["help", "nosuch"], "There is no command 'nosuch'."),
    (["help", "statu"], "Did you mean 'status'?"),
    (["wait", "--for", "foo"], "The value 'foo' is invalid for '--for <condition>':"),
    (["status", "--hold", "3"], "--hold belongs to --follow; use netwatch -f."),
    (["--format", "wayber", "-f"], "did you mean waybar?"),
    (["--count", "0", "-f"], "1 or more"),
    (["--count", "3"], "--follow"), (["--hold", "2"], "--follow"), (["--hold", "soon", "-f"], "seconds"),
    (["--hold", "nan", "-f"], "seconds"), (["--hold", "1e300", "-f"], "seconds"),
    (["--target", "https://example.org"], "URL"), (["--target", "example..org"], "example..org"),
    (["--target", "example.org:0"], "port"), (["explain", "\u{0300}a.example"], "xn--"), (["explain", ""], "empty"),
    (["--target", "127.0.0.1"], "this machine"), (["--target", "fe80::1"], "beyond the link"),
    (["wait", "-t", "x"], "seconds"),
    (["wait", "--for", "lunch"], "reachable"), (["--json", "--format", "text"], "give one"), (["nonsense"], "nonsense"),
    (["-f", "--check"], "--follow"), (["status", "--follow"], "leave out status"), (["wait", "-f"], "leave out wait"),
    (["-f", "explain"], "leave out explain"), (["serve", "-f"], "leave out serve"),
    (["snippet", "tmux", "-f", "--count", "1"], "leave out snippet"), (["snippet", "wayber"], "did you mean waybar?"),
    (["snippet"], "bar"),
    (["snippet", "lunch"], "polybar"), (["-f", "--template", "{sid}"], "did you mean {ssid}?"),
    (["--format", "polybar", "--template", "%{{F{ssid}}}"], "inside a tag"),
    (["--json", "--icons", "nerd"], "leave out --icons."), (["--max-width", "0"], "1 or more"),
    (["--hide-when", "dark"], "idle"),
    (["explain", "--format", "tmux"], "too long for a bar"),
    (["--format", "waybar", "--template", "<b>{ssid}"], "</b>"),
    (["wait", "--activity", "tcp"], "--activity; leave it out"),
    (["run", "-v", "--", "true"], "--verbose; leave it out"),
    (["serve", "-i", "eth0"], "--interface; leave it out"), (["serve", "--traffic"], "add --log"),
    (["serve", "--log", "--traffic-interval", "2"], "add --traffic"),
    (["run", "--json", "--", "true"], "--json; leave it out"),
    (["replay", "--no-service", "x"], "--no-service; leave it out"),
    (["snippet", "tmux", "--icons", "ascii"], "--icons; leave it out"),
    (["status", "--prometheus", "--template", "{ip}"], "leave out --template"),
  ])
  func `a mistake is answered with what to do`(arguments: [String], hint: String) throws {
    let result = try ChildProcess.run([Programs.netwatch] + arguments)
    #expect(result.ending == .exited(64))
    #expect(result.output == [])
    #expect(result.error.contains(hint), "\(result.error)")
  }

  @Test func `without netlink one sentence says so`() throws {
    for arguments in [["--follow"], [], ["wait"]] {
      let result = try ChildProcess.run([Programs.sandbox, "netlink", Programs.netwatch] + arguments)
      #expect(result.ending == .exited(2))
      #expect(result.output == [])
      #expect(result.error.hasPrefix("netwatch: netlink is not permitted here"), "\(result.error)")
    }
  }

  @Test func `the version is a semantic one`() throws {
    let result = try ChildProcess.run([Programs.netwatch, "--version"])
    #expect(result.ending == .exited(0))
    #expect(try /[0-9]+\.[0-9]+\.[0-9]+/.wholeMatch(in: result.output[0]) != nil)
  }

  // MARK: Commands

  @Test func `status tells once`() throws {
    let namespace = try NetworkNamespace.online()
    for arguments in [[], ["status"], ["--no-service"], ["status", "--check"]] {
      let result = try ChildProcess.run(namespace.command([Programs.netwatch] + arguments + ["--json"]))
      #expect(result.ending == .exited(0))
      #expect(result.output.count == 1)
      #expect(try Line(result.output[0]).summary == "wifi initial v0")
    }
    try namespace.run("ip route del default")
    #expect(try ChildProcess.run(namespace.command([Programs.netwatch, "--check"])).ending == .exited(1))
    #expect(try ChildProcess.run(namespace.command([Programs.netwatch])).ending == .exited(0))
  }

  @Test func `wait ends when the network comes`() throws {
    let namespace = try NetworkNamespace.withPair()
    let timedOut = try ChildProcess.run(namespace.command([Programs.netwatch, "wait", "-t", "0.1", "-q"]))
    #expect(timedOut.ending == .exited(1))
    #expect(timedOut.output == [])
    let child = try namespace.netwatch("wait", "-t", "60", "--json")
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2")
    #expect(try child.wait() == .exited(0))
    #expect(try child.nextLine().map(Line.init)?.status == "wifi")
    let gone = try namespace.netwatch("wait", "--for", "not-reachable", "-q")
    try namespace.run("ip link set v1 down")
    #expect(try gone.wait() == .exited(0))
  }

  @Test func `an ordinary user sees the same`() throws {
    let namespace = try NetworkNamespace.online()
    // If the test runs as root, netwatch runs as another user. A user namespace has no other user.
    let copy = try Programs.copyForEverybody()
    defer { _ = unsafe unlink(copy) }
    let user = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []
    let follow = try Follow(
      ChildProcess(namespace.command(user + [copy, "--follow", "--json"])))
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `--count includes the first line`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(namespace.command([Programs.netwatch, "-f", "--json", "--count", "1"]))
    #expect(result.ending == .exited(0))
    #expect(try result.output.map { try Line($0).sequence } == [1])
  }

  @Test func `lines are numbered, and every one is complete`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    _ = try follow.next()
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    try namespace.run("ip link set v1 up")
    _ = try follow.next()
    #expect(follow.lines.map(\.sequence) == [1, 2, 3])
    for line in follow.lines {
      let keys =
        #/^\{"v":1,"seq":\d+,"time":"[^"]+Z","mono_ns":\d+,"event":"[a-z]+","reason":"[a-z_]+","reachability":\{/#
      #expect(line.text.firstMatch(of: keys) != nil)
      #expect(line.text.hasSuffix(#""activity":{"state":"inactive","visible":false,"in_flight":0}}"#))
    }
  }

  // MARK: Options

  @Test func `hold keeps a short loss from being told`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--hold", "30")
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down", "sleep 0.05", "ip link set v1 up", "sleep 0.05")
    #expect(try follow.isQuiet(in: namespace))
    let short = try namespace.follow("--hold", "0.05")
    #expect(try short.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try short.summary() == "not-reachable no_carrier -")
  }

  @Test func `links are chosen and ignored by name`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.1.0.1/24 dev w0",
      "ip route add default via 10.1.0.2 metric 600")
    for options in [["-i", "w*"], ["--ignore", "v?"], ["-i", "w0", "-i", "x*"], ["-i", "*", "--ignore", "v*"]] {
      let line = try Line(
        try #require(ChildProcess.run(namespace.command([Programs.netwatch, "--json"] + options)).output.first))
      #expect(line.summary == "wifi initial w0", "\(options)")
      #expect(line.ipv4?["address"] as? String == "10.1.0.1")
      #expect(line.ipv4?["gateway"] as? String == "10.1.0.2")
    }
    for options in [["-i", "nothing*"], ["--ignore", "*"]] {
      let none = try ChildProcess.run(
        namespace.command([Programs.netwatch, "--check", "--format", "text"] + options))
      #expect(none.ending == .exited(1))
      #expect(
        none.output.dropFirst().first
          == "  Offline: no route leads out over the interfaces that your options and rules choose.")
    }
    // A link without a route of its own does not lead out, although IPv4's lookup over this link would answer "on the
    // link".
    try namespace.run("ip route del default via 10.1.0.2")
    let follow = try namespace.follow("-i", "w*")
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add default via 10.1.0.2 metric 600")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
  }

  @Test func `a target of one's own`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0")
    let follow = try namespace.follow("--target", "10.99.0.7")
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add 10.99.0.0/16 via 10.0.0.2")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip route add prohibit 10.99.0.7/32")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
  }

  @Test func `interfaces are listed, and told of when they change`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--interfaces")
    let first = try follow.next()
    #expect(first.interfaces?.compactMap { $0["name"] as? String }.sorted() == ["lo", "v0", "v1"])
    try namespace.run("ip addr add 10.5.0.1/24 dev v1")
    var line: Line
    var v1: [String: Any]
    repeat {  // The kernel may add link-local addresses at any time.
      line = try follow.next()
      #expect(line.event == "interfaces")
      #expect(line.status == "wifi")
      v1 = try #require(line.interfaces?.first { $0["name"] as? String == "v1" })
    } while (v1["addresses"] as? [String])?.contains("10.5.0.1/24") != true
    #expect(v1["medium"] as? String == "virtual")
    #expect(v1["operational_state"] as? String == "up")
  }

  @Test func `NETWATCH_DEBUG shows the netlink messages that are read`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.netwatch, "--json"]), environment: ["NETWATCH_DEBUG=netlink"])
    #expect(try result.output.map { try Line($0).status } == ["wifi"])
    #expect(result.error.contains("v0 kind veth flags <"))
    #expect(result.error.contains("address 10.0.0.1/24"))
    #expect(result.error.contains("route hop"))
  }
}

/// Tests of the libraries that the command loads, and of its help.
@Suite struct CommandLibraryTests {
  @Test func `a command that makes no request maps no libcurl, and nothing of TLS or compression`() throws {
    // With this variable the loader lists the libraries that it would map, and runs nothing.
    let listed = try ChildProcess.run([Programs.netwatch], environment: ["LD_TRACE_LOADED_OBJECTS=1"]).output
    #expect(listed.contains { $0.contains("libnl-3.so") })
    for name in ["libcurl", "libssl", "libcrypto", "libnghttp2", "libz", "libbrotli", "libzstd"] {
      #expect(!listed.contains { $0.contains(name) })
    }
  }

  @Test func `each way to ask for all help has the options of bars, and short help leaves them out`() throws {
    let all = try ChildProcess.run([Programs.netwatch, "--help-all"]).output
    #expect(all.contains { $0.hasPrefix("  --template ") })
    #expect(try ChildProcess.run([Programs.netwatch, "help", "--all"]).output == all)
    #expect(
      try !ChildProcess.run([Programs.netwatch, "status", "--help"]).output.contains { $0.contains("--template") })
  }

  /// An option that several commands share may do something else in each of them, and some commands refuse it.
  @Test(arguments: [
    ("serve", ["With --log, also store"], ["--follow", "with --interfaces"]),
    ("snippet", ["Also show how much"], ["--follow"]),
    ("explain", ["Print text or json. Default: text."], ["--template", "waybar", "labels"]),
    ("top", ["Print text or json.", "JSON always has bits."], ["--template", "waybar", "{down}"]),
    (
      "status", ["With --check, require", "what keeps each interface"],
      ["With --check or wait", "also print a line when the list"]
    ),
    ("wait", ["Wait for this condition", "add a sentence"], ["--check"]),
    ("open", ["Ask this URL"], ["--probe-interval"]),
  ])
  func `help describes a shared option in the words of the command`(
    _ command: String, _ has: [String], _ lacks: [String]
  ) throws {
    let help = try ChildProcess.run([
      Programs.netwatch, command, command == "open" || command == "snippet" ? "--help" : "--help-all",
    ])
    let text = help.output.joined(separator: " ").split(separator: " ").joined(separator: " ")
    for words in has { #expect(text.contains(words), "\(text)") }
    for words in lacks { #expect(!text.contains(words), "\(text)") }
  }
}
