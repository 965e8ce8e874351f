import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests of `--hooks` (which files of the folder run, and in what order) and of `netwatch test-hook`.
@Suite struct HookFolderTests {
  /// A temporary folder with a folder of hooks in it.
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

    /// Runs netwatch with these hooks until it has printed one line, and returns the lines of its standard error.
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
    // Editors and package managers leave such files, and `.swp` is a hidden file.
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
      // The hooks also run for the line of a later change.
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
    // Anybody can change the link `open/link`, because its folder is open to all.
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
    // Anybody can replace the folder of hooks, because the folder above it is open to all.
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

  // MARK: Paths of hooks

  /// Runs `netwatch test-hook` and returns what the hook prints, or netwatch's complaint if the hook does not run.
  private func test(_ hook: String, as user: [String] = [], by netwatch: String = Programs.netwatch) throws -> String {
    let result = try ChildProcess.run(user + [netwatch, "test-hook", hook])
    #expect(result.ending == .exited(result.output.isEmpty ? 2 : 0))
    return result.output.isEmpty ? result.error : result.output.joined(separator: "\n")
  }

  @Test func `a script sees its path without links, and no descriptor of netwatch`() throws {
    let hooks = try Hooks()
    try hooks.folder.makeFolder("usr/bin")
    try hooks.add("usr/bin/tool", "echo \"$0\"; ls /proc/self/fd")
    // A machine with a merged /usr has such a link at /bin.
    try hooks.folder.link("bin", to: "usr/bin")
    try hooks.folder.link("hooks/1", to: hooks.folder.file("bin/tool"))
    try hooks.folder.link("hooks/2", to: "../hooks/./1")
    let plain = try ChildProcess.run([hooks.folder.file("usr/bin/tool")]).output.dropFirst()
    let expected = ([hooks.folder.file("usr/bin/tool")] + plain).joined(separator: "\n")
    for path in ["usr/bin/tool", "bin/tool", "hooks/1", "hooks/2", "bin/../bin/tool"] {
      #expect(try test(hooks.folder.file(path)) == expected)
    }
    #expect(try !test("/bin/ls").isEmpty)
  }

  @Test func `what Nix has installed runs`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    for folder in ["store/1-env/bin", "store/2-hook/bin", "state/profiles"] { try hooks.folder.makeFolder(folder) }
    try hooks.add("store/2-hook/bin/hook", "echo \"profile ${0##*/store/}\"")
    // Nix's `writeShellScript` makes a single file in the store.
    try hooks.add("store/3-script", "echo \"script ${0##*/store/}\"", mode: 0o555)
    try hooks.folder.link("store/1-env/bin/hook", to: hooks.folder.file("store/2-hook/bin/hook"))
    try hooks.folder.link("state/profiles/profile-1-link", to: hooks.folder.file("store/1-env"))
    try hooks.folder.link("state/profiles/profile", to: "profile-1-link")
    try hooks.folder.link(".nix-profile", to: hooks.folder.file("state/profiles/profile"))
    try hooks.folder.link("store/4-files", to: hooks.folder.file("store/3-script"))
    try hooks.folder.link("hooks/1", to: hooks.folder.file(".nix-profile/bin/hook"))
    try hooks.folder.link("hooks/2", to: hooks.folder.file("store/4-files"))
    // In Nix the store belongs to root, and the group of the users that build packages can write to it.
    try hooks.setMode(0o1775, of: "store")
    #expect(try hooks.run(in: namespace) == ["profile 2-hook/bin/hook", "script 3-script"])
  }

  @Test(.enabled(if: NetworkNamespace.isRoot, "only root gives files away"))
  func `a folder of another user is not on the way, neither above a file nor of a link`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.folder.makeFolder("theirs/roots/hooks")
    try hooks.add("theirs/roots/hooks/1", "echo no")
    // The program behind each link belongs to root, but another user chooses it.
    try hooks.folder.link("theirs/link", to: "/bin/true")
    try hooks.folder.link("theirs/roots/link", to: "/bin/true")
    for (place, target) in [("1", "../theirs/link"), ("2", "../theirs/roots/link"), ("3", "../theirs/roots/hooks/1")] {
      try hooks.folder.link("hooks/\(place)", to: target)
    }
    let theirs = hooks.folder.file("theirs")
    #expect(unsafe chown(theirs, 4_242, 4_242) == 0)
    let said = try hooks.run(in: namespace)
    #expect(said.count == 3, "\(said)")
    #expect(said.allSatisfy { $0.contains("because '\(theirs)' belongs to another user") }, "\(said)")
    for path in ["theirs/link", "theirs/roots/link", "theirs/roots/hooks/1"] {
      #expect(try test(hooks.folder.file(path)).contains("because '\(theirs)' belongs to another user"))
    }
    let result = try ChildProcess.run(
      namespace.command([
        Programs.netwatch, "-f", "--json", "--count", "1", "--hooks", hooks.folder.file("theirs/roots/hooks"),
      ]))
    #expect(
      result.error
        == "netwatch: the hooks in '\(theirs)/roots/hooks' do not run, because '\(theirs)' belongs to another user; "
        + "make yourself or root its owner")
  }

  @Test(.enabled(if: NetworkNamespace.isRoot, "only root gives files away"))
  func `another user who exchanges folders all the time gets nothing run`() throws {
    let hooks = try Hooks()
    for folder in ["theirs/a", "theirs/b"] { try hooks.folder.makeFolder(folder) }
    try hooks.add("theirs/a/hook", "echo mine")
    try hooks.add("theirs/b/hook", "touch \(hooks.folder.file("broken"))")
    try hooks.folder.link("hooks/1", to: "../theirs/a/hook")
    _ = unsafe chmod(hooks.folder.path, 0o755)
    for path in ["theirs/b/hook", "theirs/b", "theirs"] {
      #expect(unsafe chown(hooks.folder.file(path), 4_242, 4_242) == 0)
    }
    let stranger = try ChildProcess(
      ["setpriv", "--reuid=4242", "--regid=4242", "--clear-groups", "--", try hooks.folder.install(Programs.sandbox)]
        + ["exchange", hooks.folder.file("theirs/a"), hooks.folder.file("theirs/b")])
    #expect(try stranger.nextLine() == "ready")
    // If netwatch checked the path only, another user's choice would run in two of three attempts.
    for _ in 0..<10 {
      for path in ["theirs/a/hook", "hooks/1"] {
        #expect(try test(hooks.folder.file(path)).contains("belongs to another user"))
      }
    }
    #expect(try hooks.folder.names.contains("broken") == false)
    stranger.signal(SIGKILL)
  }

  @Test func `without root's id, what belongs to root still counts as root's`() throws {
    let hooks = try Hooks()
    let netwatch = try hooks.folder.install(Programs.netwatch)
    try hooks.add("hooks/1", "echo mine")
    var user: [String] = []
    if NetworkNamespace.isRoot {
      user = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"]
      for path in ["", "hooks", "hooks/1"] {
        #expect(unsafe chown(hooks.folder.file(path), 1_000, 1_000) == 0)
      }
    }
    for namespace in [["--map-root-user"], ["--map-current-user"], []] {
      // If a user namespace has no map, even the user's own files belong to the overflow ID.
      let unshare = user + ["unshare", "--user", "--net"] + namespace
      #expect(try test(hooks.folder.file("hooks/1"), as: unshare, by: netwatch) == "mine")
      #expect(try test("/bin/ls", as: unshare, by: netwatch) != "")
    }
  }

  @Test(.enabled(if: NetworkNamespace.isRoot, "only root gives files away"))
  func `where root has an id, the overflow id is somebody else`() throws {
    let hooks = try Hooks()
    try hooks.add("hooks/1", "echo mine")
    try hooks.folder.makeFolder("theirs")
    try hooks.add("theirs/1", "echo no")
    #expect(unsafe chown(hooks.folder.file("theirs"), 4_242, 4_242) == 0)
    let unshare = ["unshare", "--user", "--net", "--map-root-user"]
    #expect(try test(hooks.folder.file("hooks/1"), as: unshare) == "mine")
    #expect(try test(hooks.folder.file("theirs/1"), as: unshare).contains("belongs to another user"))
  }

  // MARK: Complaints

  @Test func `each complaint is told once, and a file that cannot start keeps no other from running`() throws {
    let namespace = try NetworkNamespace.online()
    let hooks = try Hooks()
    try hooks.folder.install(text: "echo no\n", as: "hooks/1-no-shell")
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
    #expect(
      try hooks.run(in: namespace, "--exec-timeout", "0.3") == [
        "one",
        "netwatch: the hook '\(hooks.path)/1' took longer than --exec-timeout permits and was ended: signal 15",
        "two",
      ])
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

  @Test(arguments: [
    ("\\377", "ff"), (String(repeating: "\\377", count: 32), String(repeating: "ff", count: 32)),
    ("\\303\\244\\377", "c3a4ff"), ("caf\\351", "636166e9"),
    (String(repeating: "\\377", count: 33), nil), (String(repeating: "\\303\\244", count: 17), nil),
  ])
  func `the name of the example has the bytes that were given`(_ name: String, _ hex: String?) throws {
    let hooks = try Hooks()
    try hooks.add("hook", "cat")
    for option in ["--ssid ", "--ssid="] {
      let result = try ChildProcess.run([
        "sh", "-c", "exec \"$0\" test-hook \"$1\" \(option)\"$(printf '\(name)')\"", Programs.netwatch,
        hooks.folder.file("hook"),
      ])
      if let hex {
        #expect(try Line(#require(result.output.first)).networkBytes == hex)
      } else {
        #expect(result.error.contains("--ssid takes at most 32 bytes."))
      }
    }
  }

  @Test func `options that do nothing are refused`() throws {
    for (arguments, sentence) in [
      (["--hooks", "x"], "--hooks belongs to --follow; use netwatch -f."),
      (["status", "--hooks", "x"], "--hooks belongs to --follow; use netwatch -f."),
      (["-f", "--exec-timeout", "1"], "--exec-timeout belongs to --exec and --hooks; add one of them."),
      (["-f", "--hooks", ""], "write the path of a folder."),
      (["test-hook", "x", "--ssid", "n", "--status", "wwan"], "--ssid works only with --status wifi"),
      (["test-hook", "x", "--ssid", String(repeating: "x", count: 33)], "--ssid takes at most 32 bytes."),
    ] {
      let result = try ChildProcess.run([Programs.netwatch] + arguments)
      #expect(result.ending == .exited(64))
      #expect(result.error.contains(sentence), "\(result.error)")
    }
  }
}
