import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// `--hooks`: which files of the folder run, and in what order; and `netwatch test-hook`.
@Suite struct HookFolderTests {
  /// A folder of hooks.
  private struct Hooks {
    let folder: TemporaryFolder
    var path: String { folder.file("hooks") }

    init() throws {
      folder = try TemporaryFolder()
      try folder.makeFolder("hooks")
      try setMode(0o755, of: "hooks")
    }

    func add(_ name: String, _ script: String, mode: mode_t = 0o755) throws {
      try folder.installScript(script, as: name, mode: mode)
    }

    func setMode(_ mode: mode_t, of name: String) throws {
      guard unsafe chmod(folder.file(name), mode) == 0 else { throw TestFailure("chmod \(name): \(errno)") }
    }

    /// What standard error says of one line.
    func run(in namespace: NetworkNamespace, _ options: String...) throws -> [String] {
      let result = try ChildProcess.run(
        namespace.command([Programs.netwatch, "-f", "--json", "--count", "1", "--hooks", path] + options))
      #expect(result.ending == .exited(0))
      #expect(result.output.count == 1)
      return result.error.split(separator: "\n").map(String.init)
    }
  }

  @Test func `files run in the order of their names, one at a time, each with the line and its variables`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    let script = "sleep 0.05; read -r line; echo \"${0##*/} $NETWATCH_STATUS $NETWATCH_OLD_STATUS.\"; echo \"$line\""
    for name in ["20-b", "10-a", "9", "Z"] { try hooks.add("hooks/\(name)", script) }
    // What editors and package managers leave, and what is hidden.
    for name in ["10-a~", "10-a.bak", ".swp", "20-b.dpkg-old"] { try hooks.add("hooks/\(name)", "echo no") }
    let follow = try Follow(
      ChildProcess(
        namespace.command([
          Programs.netwatch, "-f", "--json", "--hooks", hooks.path, "--exec", "echo first; cat >/dev/null",
        ])))
    for (status, old, next) in [("wifi", "", "ip link set v1 down"), ("not-reachable", "wifi", "true")] {
      let line = try follow.next()
      #expect(try follow.process.nextErrorLine() == "first")
      for name in ["10-a", "20-b", "9", "Z"] {
        #expect(try follow.process.nextErrorLine() == "\(name) \(status) \(old).")
        #expect(try follow.process.nextErrorLine() == line.text)
      }
      // One that comes later counts, too.
      try namespace.run(next)
    }
  }

  @Test func `a file that others can write to does not run, nor one in such a folder`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.add("hooks/1-mine", "echo mine")
    try hooks.add("hooks/2-group", "echo no", mode: 0o775)
    try hooks.add("hooks/3-all", "echo no", mode: 0o757)
    try hooks.add("hooks/4-plain", "echo no", mode: 0o644)
    try hooks.folder.makeFolder("hooks/5-folder")
    try hooks.add("elsewhere", "echo linked")
    try hooks.folder.link("hooks/6-link", to: hooks.folder.file("elsewhere"))
    try hooks.folder.link("hooks/7-nowhere", to: "/nonexistent/hook")
    try hooks.folder.makeFolder("open")
    try hooks.setMode(0o777, of: "open")
    try hooks.add("open/file", "echo no")
    try hooks.folder.link("hooks/8-link", to: hooks.folder.file("open/file"))
    // The link in the middle can be changed by anybody.
    try hooks.folder.link("open/link", to: hooks.folder.file("elsewhere"))
    try hooks.folder.link("hooks/9-link", to: "../open/link")
    let said = try hooks.run(in: namespace)
    #expect(said.filter { !$0.hasPrefix("netwatch: ") } == ["mine", "linked"])
    func complaint(_ number: Int) -> String { said.first { $0.contains("hooks/\(number)-") } ?? "" }
    for number in [2, 3] { #expect(complaint(number).contains("others can write to"), "\(said)") }
    #expect(complaint(2).hasSuffix("run: chmod go-w '\(hooks.path)/2-group'"))
    #expect(complaint(4).hasSuffix("not executable; run: chmod +x '\(hooks.path)/4-plain'"))
    #expect(complaint(5).contains("it is not a file"))
    #expect(complaint(7).contains("No such file"))
    for number in [8, 9] {
      #expect(complaint(number).hasSuffix("chmod go-w '\(hooks.folder.file("open"))'"), "\(said)")
    }
    #expect(said.count == 9, "\(said)")

    try hooks.setMode(0o1777, of: "hooks")
    #expect(try hooks.run(in: namespace).allSatisfy { $0.hasPrefix("netwatch: ") })
    try hooks.setMode(0o755, of: "hooks")
    // Everybody can put another folder in the place of this one.
    try hooks.setMode(0o777, of: "")
    #expect(try hooks.run(in: namespace).first?.contains("chmod go-w '\(hooks.folder.path)'") == true)
  }

  @Test(.enabled(if: NetworkNamespace.isRoot, "only root gives files away"))
  func `a file or a folder of another user does not run`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.add("hooks/1", "echo mine")
    try hooks.add("hooks/2", "echo no")
    #expect(unsafe chown("\(hooks.path)/2", 65534, 65534) == 0)
    let said = try hooks.run(in: namespace)
    #expect(said.contains("mine") && !said.contains("no"))
    #expect(said.contains { $0.contains("belongs to another user; make yourself or root its owner") }, "\(said)")
    #expect(unsafe chown(hooks.path, 65534, 65534) == 0)
    #expect(try hooks.run(in: namespace).allSatisfy { $0.contains("belongs to another user") })
  }

  @Test func `each complaint is told once, and a file that cannot start keeps no other from running`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.folder.write("echo no\n", to: "hooks/1-no-shell")
    try hooks.setMode(0o755, of: "hooks/1-no-shell")
    try hooks.add("hooks/2-plain", "echo no", mode: 0o644)
    try hooks.add("hooks/3", "echo $NETWATCH_STATUS")
    let follow = try Follow(
      ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--count", "2", "--hooks", hooks.path])))
    _ = try follow.next()
    var said: [String] = []
    for _ in 0..<3 { said.append(try follow.process.nextErrorLine() ?? "") }
    #expect(said[0].contains("not executable"))
    #expect(said[1].hasSuffix("Exec format error; begin the file with a line such as #!/bin/sh"))
    #expect(said[2] == "wifi")
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    #expect(try follow.process.nextErrorLine()?.contains("Exec format error") == true)
    #expect(try follow.process.nextErrorLine() == "not-reachable")
    #expect(try follow.process.wait() == .exited(0))
  }

  @Test func `a file that takes too long is ended, and the next one runs`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.add("hooks/1", "echo one; exec sleep 1000")
    try hooks.add("hooks/2", "echo two")
    #expect(try hooks.run(in: namespace, "--exec-timeout", "0.3") == ["one", "two"])
  }

  @Test func `a folder that is not there is told of, and holds up nobody`() throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command([Programs.netwatch, "-f", "--json", "--count", "1", "--hooks", "/nonexistent/hooks"]))
    #expect(result.ending == .exited(0))
    #expect(
      result.error == "netwatch: cannot read the folder of hooks '/nonexistent/hooks': No such file or directory")
  }

  @Test func `the service runs hooks too`() throws {
    let hooks = try Hooks()
    try hooks.add("hooks/1", "echo \"$NETWATCH_STATUS after $NETWATCH_OLD_STATUS\"")
    let service = try RunningService("--hooks", hooks.path, "--exec", "echo $NETWATCH_EVENT")
    #expect(try service.process.nextErrorLine() == "initial")
    #expect(try service.process.nextErrorLine() == "wifi after ")
    try service.namespace.run("ip link set v1 down")
    #expect(try service.process.nextErrorLine() == "reachability")
    #expect(try service.process.nextErrorLine() == "not-reachable after wifi")
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
  }

  @Test func `test-hook shows what a hook says, and ends as it does`() throws {
    let hooks = try Hooks()
    try hooks.add(
      "hook",
      "read -r line; echo \"$NETWATCH_STATUS|$NETWATCH_OLD_STATUS|$NETWATCH_SSID|$NETWATCH_IPV4|$NETWATCH_GATEWAY|"
        + "$NETWATCH_EXPENSIVE\"; case $line in {*}) echo line;; esac; [ \"$NETWATCH_STATUS\" != wwan ] || kill -9 $$; exit 3"
    )
    let hook = hooks.folder.file("hook")
    for (options, first, ending, sentence) in [
      ([], "wifi|not-reachable|Example|192.0.2.10|192.0.2.1|false", CInt(3), "has ended with exit status 3"),
      (
        ["--ssid", "$(id)"], "wifi|not-reachable|$(id)|192.0.2.10|192.0.2.1|false", 3, "has ended with exit status 3"
      ),
      (["--status", "not-reachable"], "not-reachable|wifi||||", 3, "has ended with exit status 3"),
      (["--status", "wwan"], "wwan|not-reachable||192.0.2.10|192.0.2.1|true", 137, "was ended by signal 9"),
      (["--status", "unknown"], "unknown|not-reachable||||", 3, "has ended with exit status 3"),
    ] {
      let result = try ChildProcess.run([Programs.netwatch, "test-hook", hook] + options)
      #expect(result.output == [first, "line"])
      #expect(result.error == "netwatch: '\(hook)' \(sentence)")
      #expect(result.ending == .exited(ending))
    }
    try hooks.setMode(0o666, of: "hook")
    let refused = try ChildProcess.run([Programs.netwatch, "test-hook", hook])
    #expect(refused.ending == .exited(2) && refused.output == [])
    #expect(refused.error.contains("others can write to '\(hook)'; run: chmod go-w '\(hook)'"))
  }

  @Test func `options that do nothing are refused`() throws {
    for (arguments, sentence) in [
      (["--hooks", "x"], "--hooks belongs to --follow; use netwatch -f."),
      (["status", "--hooks", "x"], "status does nothing with --hooks; leave it out."),
      (["-f", "--exec-timeout", "1"], "--exec-timeout belongs to --exec and --hooks; add one of them."),
      (["-f", "--hooks", ""], "--hooks needs a folder."),
      (["test-hook", "x", "--ssid", "n", "--status", "wwan"], "--ssid works only with --status wifi"),
      (["test-hook", "x", "--ssid", String(repeating: "x", count: 33)], "--ssid takes at most 32 bytes."),
    ] {
      let result = try ChildProcess.run([Programs.netwatch] + arguments)
      #expect(result.ending == .exited(64))
      #expect(result.error.contains(sentence), "\(result.error)")
    }
  }
}
