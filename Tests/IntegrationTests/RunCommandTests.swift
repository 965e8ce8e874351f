import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch run`: neither the command nor the program that starts it notices netwatch.
@Suite struct RunCommandTests {
  private func run(_ command: String..., environment: [String] = []) throws -> (
    ending: ChildProcess.Ending, output: [String], error: String
  ) {
    try ChildProcess.run([Programs.netwatch, "run", "--"] + command, environment: environment)
  }

  // MARK: How it ends

  @Test(arguments: [0, 1, 7, 126, 127, 255] as [CInt])
  func `it ends as the command does`(status: CInt) throws {
    let result = try run("sh", "-c", "echo said; exit \(status)")
    #expect(result.ending == .exited(status))
    #expect(result.output == ["said"])
    #expect(result.error == "")
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGPIPE, SIGSEGV, SIGABRT, SIGKILL, SIGALRM, SIGCONT])
  func `a command killed by a signal ends it by that signal`(signal: CInt) throws {
    // SIGCONT ends no process.
    let expected = signal == SIGCONT ? ChildProcess.Ending.exited(3) : .signalled(signal)
    let result = try run("sh", "-c", "ulimit -c 0; kill -\(signal) $$; exit 3")
    #expect(result.ending == expected)
  }

  @Test func `a command that is not there, or cannot be run`() throws {
    let folder = try TemporaryFolder()
    let missing = try run("netwatch-no-such-command")
    #expect(missing.ending == .exited(127))
    #expect(missing.error.hasPrefix("netwatch: cannot run netwatch-no-such-command: "))
    #expect(try run(folder.path).ending == .exited(126))
    try "no program".write(toFile: folder.file("text"), atomically: false, encoding: .utf8)
    #expect(try run(folder.file("text")).ending == .exited(126))
    #expect(try ChildProcess.run([Programs.netwatch, "run"]).ending == .exited(64))
    #expect(try ChildProcess.run([Programs.netwatch, "run", "--"]).ending == .exited(64))
  }

  // MARK: Signals

  @Test(arguments: [(SIGINT, "INT"), (SIGTERM, "TERM"), (SIGHUP, "HUP"), (SIGUSR1, "USR1"), (SIGQUIT, "QUIT")])
  func `a signal reaches the command, and what it makes of it is the answer`(signal: CInt, name: String) throws {
    let child = try ChildProcess([
      Programs.netwatch, "run", "--", "sh", "-c",
      "trap 'echo got \(name); exit 9' \(name); echo ready; while :; do sleep 0.05; done",
    ])
    #expect(try child.nextLine() == "ready")
    child.signal(signal)
    #expect(try child.nextLine() == "got \(name)")
    #expect(try child.wait() == .exited(9))
  }

  @Test func `what nohup has ignored stays ignored`() throws {
    let child = try ChildProcess([
      "sh", "-c", "trap '' HUP; exec \"$0\" run -- sh -c 'echo ready; read -r line; echo survived $line'",
      Programs.netwatch,
    ])
    #expect(try child.nextLine() == "ready")
    child.signal(SIGHUP)
    child.write("it\n")
    #expect(try child.nextLine() == "survived it")
    #expect(try child.wait() == .exited(0))
  }

  @Test func `whoever ignores the ends of children does not stop it`() throws {
    let result = try ChildProcess.run([
      Programs.sandbox, "sigchld", Programs.netwatch, "run", "--", "sh", "-c", "sleep 0.01; exit 7",
    ])
    #expect(result.ending == .exited(7))
  }

  // MARK: What goes through

  @Test func `a pipeline is the same to the byte`() throws {
    let folder = try TemporaryFolder()
    let script = """
      head -c 5000000 /dev/urandom | tee \(folder.file("in")) | \(Programs.netwatch) run -- cat >\(folder.file("out"))
      cmp \(folder.file("in")) \(folder.file("out"))
      """
    let result = try ChildProcess.run(["sh", "-c", script])
    #expect(result.ending == .exited(0), "\(result.error)")
  }

  @Test func `arguments, environment and descriptors are those it was given`() throws {
    let result = try run(
      "sh", "-c", "printf '[%s]' \"$@\"; echo; echo $VALUE; ls /proc/self/fd | tr '\\n' ' '; echo", "sh", "", "a b",
      "--label", "--", "-h", "$(id)", "*", environment: ["VALUE=a  *  b"])
    #expect(result.output.first == "[][a b][--label][--][-h][$(id)][*]")
    // The descriptors are the same as without netwatch, whatever this test was started with.
    let plain = try ChildProcess.run(["sh", "-c", "ls /proc/self/fd | tr '\\n' ' '; echo"])
    #expect(result.output.last == plain.output.last)
    // File names are bytes, not text.
    let bytes = try ChildProcess.run([
      "bash", "-c", "\(Programs.netwatch) run -- printf '%s' $'\\xff\\xc3(' | od -An -tx1",
    ])
    #expect(bytes.output == [" ff c3 28"])
  }

  // MARK: The lease

  @Test func `it is one request for as long as it runs`() throws {
    let service = try RunningService()
    let follow = try service.follow()
    #expect(try follow.next().inFlight == 0)
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--label", "a \"label\"\n\u{1}", "--", "sh", "-c", "read -r line; exit 7"],
      environment: service.environment)
    var line = try follow.next()
    #expect("\(line.reason ?? "") \(line.inFlight ?? -1)" == "request_began 1")
    line = try follow.next()
    #expect("\(line.reason ?? "") \(line.inFlight ?? -1)" == "activation_delay 1")
    child.write("\n")
    #expect(try child.wait() == .exited(7))
    line = try follow.next()
    #expect("\(line.reason ?? "") \(line.inFlight ?? -1)" == "request_ended 0")
  }

  @Test func `killed, it leaves no request behind`() throws {
    let service = try RunningService()
    let watcher = try service.client()
    _ = try watcher.next()
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--", "sh", "-c", "read -r line"], environment: service.environment)
    #expect(try watcher.next().inFlight == 1)
    child.signal(SIGKILL)
    _ = try child.wait()
    // The command reads the end of its input, and then ends.
    child.closeInput()
    var line = try watcher.next()
    while line.inFlight != 0 { line = try watcher.next() }
  }

  @Test(arguments: [
    String(repeating: "\u{1}", count: 256), String(repeating: "é", count: 128),
    String(repeating: "\u{1F469}", count: 64),
    "e" + String(repeating: "\u{301}", count: 127),
  ])
  func `any label that fits is taken`(label: String) throws {
    let service = try RunningService()
    let watcher = try service.client()
    _ = try watcher.next()
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--label", label, "--", "sh", "-c", "read -r line"], environment: service.environment)
    #expect(try watcher.next().inFlight == 1)
    #expect(try watcher.next().reason == "activation_delay")
    child.write("\n")
    #expect(try child.wait() == .exited(0))
    let long = try ChildProcess.run([Programs.netwatch, "run", "--label", label + "x", "--", "true"])
    #expect(long.ending == .exited(label.utf8.count >= 256 ? 64 : 0))
  }

  @Test func `a command with a name of many bytes is one request`() throws {
    let service = try RunningService()
    // Each of these few characters has many bytes.
    let name = String(repeating: "e\u{301}\u{302}\u{303}\u{304}", count: 28)
    let command = service.folder.file(name)
    #expect(unsafe symlink("/bin/sh", command) == 0)
    let watcher = try service.client()
    _ = try watcher.next()
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--", command, "-c", "read -r line"], environment: service.environment)
    #expect(try watcher.next().inFlight == 1)
    #expect(try watcher.next().reason == "activation_delay")
    child.write("\n")
    #expect(try child.wait() == .exited(0))
  }

  @Test func `a service that comes later counts it too`() throws {
    let folder = try TemporaryFolder()
    let namespace = try NetworkNamespace.online()
    let child = try ChildProcess(
      [Programs.netwatch, "run", "--", "sh", "-c", "echo ready; read -r line"],
      environment: ["NETWATCH_SOCKET=\(folder.file("s"))"])
    #expect(try child.nextLine() == "ready")
    let service = try RunningService(in: namespace, folder: folder)
    let watcher = try service.client()
    while try watcher.next().inFlight != 1 {}
    child.write("\n")
    #expect(try child.wait() == .exited(0))
    while try watcher.next().inFlight != 0 {}
  }

  // MARK: The first two minutes

  @Test func `without a service, a person is told how requests become visible`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    let environment = "NETWATCH_SOCKET=\(folder.file("s"))"
    func terminal(_ words: String...) throws -> PseudoTerminal {
      try PseudoTerminal(namespace.command(["env", environment, Programs.netwatch] + words), columns: 120)
    }
    let follow = try terminal("--follow")
    try follow.wait { $0.text.contains("v0") && $0.text.contains("start netwatch serve, or add --activity tcp") }
    let run = try terminal("run", "echo", "done")
    try run.wait { $0.text.contains("nothing shows this request; start netwatch serve") && $0.text.contains("done") }
    // People who ask for something else, and scripts, get no hint.
    for words in [["--follow", "--activity", "tcp"], ["--follow", "--no-service"], ["--follow", "--json"]] {
      let other = try PseudoTerminal(
        namespace.command(["env", environment, Programs.netwatch] + words + ["--count", "1"]))
      try other.readToEnd()
      #expect(!other.picture.text.contains("no service runs"), "\(words)")
    }
    let script = try ChildProcess.run([Programs.netwatch, "run", "true"], environment: [environment])
    #expect(script.error == "")
  }
}
