import CLinux
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of how netwatch feeds a status bar: when it writes, what one write contains, and when it ends.
@Suite struct BarFeederTests {
  /// A pipe from which a test reads one write after another. A pipe in packet mode keeps the writes apart.
  private final class Packets {
    private let reading: CInt
    let writing: CInt
    private var seen: [String] = []

    /// The value of `O_DIRECT`, which the Glibc module does not export.
    #if arch(arm64)
      private static let packetMode: CInt = 0o200000
    #else
      private static let packetMode: CInt = 0o40000
    #endif

    init() throws {
      var ends: [CInt] = [-1, -1]
      guard unsafe pipe2(&ends, CInt(O_CLOEXEC) | Self.packetMode) == 0 else { throw TestFailure("pipe2: \(errno)") }
      (reading, writing) = (ends[0], ends[1])
    }

    deinit { close(reading) }

    func next() throws -> String {
      let deadline = Deadline(20)
      var waiting = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
      while unsafe poll(&waiting, 1, deadline.milliseconds) <= 0 {
        guard errno == EINTR, !deadline.isOver else { throw TestFailure("nothing was written after \(seen)") }
      }
      var bytes = [UInt8](repeating: 0, count: 65_536)
      let count = unsafe read(reading, &bytes, bytes.count)
      seen.append(String(decoding: bytes[..<max(0, count)], as: UTF8.self))
      return seen[seen.count - 1]
    }
  }

  private func feeder(_ namespace: NetworkNamespace, _ arguments: String...) throws -> (ChildProcess, Packets) {
    let packets = try Packets()
    let child = try ChildProcess(
      namespace.command([Programs.netwatch, "--follow"] + arguments), standardOutput: .descriptor(packets.writing))
    close(packets.writing)
    return (child, packets)
  }

  @Test(arguments: ["waybar", "i3blocks", "polybar", "lemonbar", "xmobar", "conky", "dwm", "screen", "i3status-rust"])
  func `a line is one write, and says something new`(format: String) throws {
    let namespace = try NetworkNamespace.online()
    let (child, packets) = try feeder(namespace, "--format", format, "--template", "{name}{ activity}")
    let first = try packets.next()
    #expect(first.contains("v0"))
    // A new gateway changes waybar's JSON line, which has a tooltip, but this template shows no gateway.
    if format != "waybar" { try namespace.run("ip route replace default via 10.0.0.3") }
    try namespace.run("ip link set v1 down")
    let second = try packets.next()
    #expect(second.contains("not reachable"))
    try namespace.run("ip link set v1 up")
    #expect(try packets.next().contains("v0"))
    for line in [first, second] { #expect(line.hasSuffix("\n") && !line.dropLast().contains("\n")) }
    _ = child
  }

  @Test(arguments: ["i3bar", "swaybar"])
  func `the header, then an array without end`(format: String) throws {
    let namespace = try NetworkNamespace.online()
    let (child, packets) = try feeder(namespace, "--format", format)
    #expect(try packets.next() == "{\"version\":1}\n[\n")
    let first = try packets.next()
    #expect(first.hasPrefix(#"[{"name":"netwatch","instance":"v0","full_text":"● v0","#))
    try namespace.run("ip link set v1 down")
    #expect(try packets.next().hasPrefix(#",[{"name":"netwatch","#))
    _ = child
  }

  @Test func `tmux gets each line once more, and the newest alone`() throws {
    let namespace = try NetworkNamespace.online()
    var start = ContinuousClock.now
    let (child, packets) = try feeder(namespace, "--format", "tmux")
    let first = try packets.next()
    #expect(try packets.next() == first)
    #expect(ContinuousClock.now - start > .seconds(1))
    try namespace.run("ip link set v1 down")
    let offline = try packets.next()
    try namespace.run("ip link set v1 up")
    var next = try packets.next()
    // If the carrier was missing for more than a second, the line has been repeated in the meantime.
    if next == offline { next = try packets.next() }
    #expect(next == first)
    #expect(try packets.next() == first)
    start = .now
    try namespace.run("ip link set v1 down")
    // Only the newest line is repeated, not an earlier one.
    #expect(try packets.next() == offline)
    #expect(try packets.next() == offline)
    #expect(ContinuousClock.now - start > .seconds(1))
    _ = child
  }

  @Test func `a reader that leaves after tmux's first line causes no error`() throws {
    let namespace = try NetworkNamespace.online()
    let child = try namespace.netwatch("--follow", "--format", "tmux")
    _ = try child.nextLine()
    child.closeOutput()
    #expect(try child.wait() == .exited(0))
    #expect(try child.errorText() == "")
  }

  @Test(arguments: [
    ("waybar", #"{"text":"","alt":"unknown","tooltip":"","class":["unknown"]}"#), ("polybar", ""), ("tmux", ""),
    ("i3bar", #"[{"name":"netwatch","instance":"","full_text":"","short_text":"","markup":"none"}]"#),
    ("i3blocks", #"{"full_text":"","short_text":"","markup":"pango"}"#),
    ("i3status-rust", #"{"icon":"","state":"Idle","text":"","short_text":""}"#),
  ])
  func `without netlink the text is empty and the exit status 2`(format: String, last: String) throws {
    for arguments in [["--follow"], ["status"]] {
      let result = try ChildProcess.run(
        [Programs.sandbox, "netlink", Programs.netwatch] + arguments + ["--format", format])
      #expect(result.ending == .exited(2))
      #expect(result.output.last == last)
      #expect(result.error.hasPrefix("netwatch: netlink is not permitted here"))
    }
  }

  @Test func `stopped during many changes, it ends with the newest line`() throws {
    let namespace = try NetworkNamespace.online()
    let child = try namespace.netwatch("--follow", "--format", "polybar")
    _ = try child.nextLine()
    child.signal(SIGSTOP)
    for _ in 0..<10 { try namespace.run("ip link set v1 down", "ip link set v1 up") }
    // The kernel reports a lost carrier a moment later.
    try namespace.run("ip link set v1 down", "until ip -o link show v0 | grep -q NO-CARRIER; do sleep 0.01; done")
    child.signal(SIGCONT)
    // netwatch may first print lines for changes that were queued, but its last line is right.
    try child.waitUntilIdle()
    child.signal(SIGTERM)
    var lines: [String] = []
    while let line = try child.nextLine() { lines.append(line) }
    #expect(lines.last?.contains("not reachable") == true, "\(lines)")
  }

  @Test func `clicks do not fill i3blocks' pipe`() throws {
    let namespace = try NetworkNamespace.online()
    let child = try ChildProcess(
      namespace.command([
        "bash", "-c",
        "{ head -c 300000 /dev/zero; echo all was read >&2; sleep 60; } | \(Programs.netwatch) -f --format i3blocks",
      ]))
    #expect(try child.nextErrorLine() == "all was read")
    #expect(try child.nextLine()?.contains("v0") == true)
  }

  @Test func `the activity mark comes and goes`() throws {
    let service = try RunningService()
    let child = try ChildProcess(
      service.namespace.command([Programs.netwatch, "--follow", "--format", "dwm"]), environment: service.environment)
    #expect(try child.nextLine() == "● v0")
    let request = try service.client()
    request.send("{\"begin\":\"x\"}\n{\"begin\":\"y\"}\n{\"end\":\"y\"}")
    #expect(try child.nextLine() == "● v0 ⇅")
    request.send("{\"end\":\"x\"}")
    #expect(try child.nextLine() == "● v0")
  }

  @Test(arguments: ["i3blocks", "polybar"])
  func `the end of standard input does not end it`(format: String) throws {
    let namespace = try NetworkNamespace.online()
    let child = try namespace.netwatch("--follow", "--format", format)
    #expect(try child.nextLine()?.contains("v0") == true)
    child.closeInput()
    try namespace.run("ip link set v1 down")
    #expect(try child.nextLine()?.contains("not reachable") == true)
    // netwatch also does not poll its closed standard input again and again.
    try child.waitUntilIdle()
  }

  @Test func `a service that dies takes the activity mark along, and nothing else`() throws {
    let service = try RunningService()
    let child = try ChildProcess(
      service.namespace.command([Programs.netwatch, "--follow", "--format", "dwm"]), environment: service.environment)
    #expect(try child.nextLine() == "● v0")
    // The service is idle, so neither its end nor the start of the next service makes a line.
    try service.kill()
    try service.restart()
    let request = try service.client()
    request.send("{\"begin\":\"x\"}")
    #expect(try child.nextLine() == "● v0 ⇅")
    try service.kill()
    #expect(try child.nextLine() == "● v0")
    try service.namespace.run("ip link set v1 down")
    #expect(try child.nextLine() == "○ not reachable")
  }

  @Test func `a service's socket that does not exist causes no error`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.netwatch, "status", "--format", "dwm"]),
      environment: ["NETWATCH_SOCKET=/nonexistent/s"])
    #expect(result.ending == .exited(0))
    #expect(result.output == ["● v0"])
    #expect(result.error == "")
  }

  @Test func `a link's name with markup is escaped for each bar`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link set v0 down", #"ip link set v0 name "$(printf '<b>&#[x]${e}\033')""#,
      #"ip link set "$(printf '<b>&#[x]${e}\033')" up"#,
      "ip addr add 10.0.0.1/24 dev \"$(printf '<b>&#[x]${e}\\033')\"",
      "ip route add default via 10.0.0.2")
    func line(_ format: String) throws -> String? {
      try ChildProcess.run(namespace.command([Programs.netwatch, "--color", "never", "--format", format])).output.last
    }
    #expect(try line("dwm") == "● <b>&#[x]${e}")
    #expect(try line("xmobar") == "<raw=1:●/> <raw=12:<b>&#[x]${e}/>")
    #expect(try line("tmux") == "● <b>&##[x]${e}")
    #expect(try line("conky") == "● <b>&\\#[x]$${e}")
  }
}
