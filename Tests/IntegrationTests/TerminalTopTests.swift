import Glibc
import NetwatchTestSupport
import Testing

/// `netwatch top` on a terminal: what a person sees, and the state of the terminal afterwards.
@Suite struct TerminalTopTests {
  private static func top(
    _ namespace: NetworkNamespace, _ options: String..., rows: Int = 24, columns: Int = 80, type: String = "xterm"
  ) throws -> PseudoTerminal {
    try PseudoTerminal(
      namespace.command([Programs.netwatch, "top"] + options), rows: rows, columns: columns, type: type)
  }

  /// Starts an interactive shell, which controls jobs, on a terminal.
  private static func shell(_ namespace: NetworkNamespace) throws -> PseudoTerminal {
    let terminal = try PseudoTerminal(
      namespace.command(["bash", "--norc", "--noprofile", "-i"]), rows: 30, columns: 200)
    try terminal.wait { $0.lines[0] == "ready$" }
    return terminal
  }

  /// Returns whether the table is drawn on the alternate screen and the cursor is hidden.
  private static func isDrawn(_ picture: TerminalPicture) -> Bool {
    picture.isAlternate && !picture.showsCursor && picture.lines[0].hasPrefix("PROGRAM")
      && picture.lines.contains { $0.hasPrefix("other") } && picture.lines.contains { $0.hasPrefix("q quit") }
  }

  private static func isGivenBack(_ picture: TerminalPicture) -> Bool { !picture.isAlternate && picture.showsCursor }

  @Test(arguments: [
    ("q", ChildProcess.Ending.exited(0)), ("\u{3}", .signalled(SIGINT)), ("\u{1c}", .signalled(SIGQUIT)),
  ])
  func `a key ends it, and the terminal is as before`(_ key: String, _ ending: ChildProcess.Ending) throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace)
    try terminal.wait(until: Self.isDrawn)
    #expect(terminal.isRaw)
    terminal.type(key)
    try terminal.readToEnd()
    #expect(Self.isGivenBack(terminal.picture))
    #expect(terminal.settings.c_lflag == terminal.settingsAtStart.c_lflag)
    #expect(try terminal.child.wait() == ending)
  }

  @Test(arguments: [SIGTERM, SIGHUP, SIGINT])
  func `a signal ends it, and the terminal is as before`(_ signal: CInt) throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace)
    try terminal.wait(until: Self.isDrawn)
    terminal.child.signal(signal)
    try terminal.readToEnd()
    #expect(Self.isGivenBack(terminal.picture))
    #expect(terminal.settings.c_lflag == terminal.settingsAtStart.c_lflag)
    #expect(try terminal.child.wait() == .signalled(signal))
  }

  @Test func `keys change the order, and what is no key of its does nothing`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace, "--sort", "sent", "--units", "bytes")
    try terminal.wait { $0.text.contains("s sent*") && $0.lines[0].contains("TX B/s") }
    for (key, words) in [
      ("r", "r received*"), ("s", "s sent*"), ("c", "c connections*"), ("n", "n name*"), ("a", "a all*"),
    ] {
      // These are Shift and an arrow as one terminal sends it, Alt and a letter, a letter without a meaning, Ctrl-D,
      // and an arrow.
      for other in ["\u{1b}[a", "\u{1b}q", "x", "\u{4}", "\u{1b}[B"] { terminal.type(other) }
      terminal.type(key)
      let picture = try terminal.wait { $0.text.contains(words) }
      #expect(picture.text.count { $0 == "*" } == 1)
    }
  }

  @Test func `it is drawn at the size that the terminal has`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace)
    try terminal.wait { Self.isDrawn($0) && $0.lines[0].hasSuffix("CONN  UID") && $0.lines[3].contains("n name") }
    // The table uses the whole width, up to the last column.
    terminal.resize(rows: 24, columns: 20)
    try terminal.wait { $0.lines[0] == "PROGRAM       RX b/s" && $0.lines[3] == "q quit  sort: a all~" }
    terminal.resize(rows: 3, columns: 40)
    try terminal.wait { $0.lines.map { $0.prefix(5) } == ["PROGR", "short", "other"] }
    terminal.resize(rows: 1, columns: 7)
    try terminal.wait { $0.lines == ["PROGRAM"] }
    terminal.resize(rows: 1, columns: 1)
    try terminal.wait { $0.lines == ["~"] }
    terminal.resize(rows: 500, columns: 1_000)
    try terminal.wait { Self.isDrawn($0) && $0.lines[3].contains("n name") }
    #expect(terminal.picture.scrolls == 0)
    terminal.type("q")
    try terminal.readToEnd()
    #expect(try terminal.child.wait() == .exited(0))
  }

  @Test func `Ctrl-Z gives the terminal back, and fg takes it again`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.shell(namespace)
    terminal.type("\(Programs.netwatch) top\n")
    try terminal.wait(until: Self.isDrawn)
    for _ in 1...2 {
      #expect(terminal.isRaw)
      terminal.type("\u{1a}")
      try terminal.wait { Self.isGivenBack($0) && $0.text.contains("Stopped") }
      terminal.type("clear; stty -a | tr ' ;' '\\n' | grep -x -e -\\*icanon -e -\\*echo | tr '\\n' ,; echo .\n")
      try terminal.wait { $0.lines.contains("icanon,echo,.") }
      terminal.type("fg\n")
      try terminal.wait(until: Self.isDrawn)
    }
    // Keys still work.
    terminal.type("n")
    try terminal.wait { $0.text.contains("n name*") }
    terminal.type("q")
    try terminal.wait(until: Self.isGivenBack)
    terminal.type("s=$?; clear; echo status $s, $(jobs | wc -l) jobs\n")
    try terminal.wait { $0.lines.contains("status 0, 0 jobs") }
  }

  @Test(arguments: ["", "trap '' TTOU; "])
  func `in the background it stops, draws nothing, and can be ended`(_ preparation: String) throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.shell(namespace)
    func waitForStop(after commands: String) throws {
      terminal.type("\(commands)clear; echo begun\n")
      try terminal.wait { $0.lines.contains("begun") }
      try terminal.wait(untilHolds: {
        terminal.type("clear; jobs\n")
        return terminal.picture.text.contains("Stopped")
      })
      #expect(Self.isGivenBack(terminal.picture))
    }
    func bringToForeground() throws {
      terminal.type("fg\n")
      try terminal.wait(until: Self.isDrawn)
      terminal.type("\u{1a}")
      try terminal.wait(until: Self.isGivenBack)
    }
    try waitForStop(after: "(\(preparation)exec \(Programs.netwatch) top) & ")
    try bringToForeground()
    try waitForStop(after: "bg; ")
    try bringToForeground()
    terminal.type("kill %1; while kill -0 $!; do sleep 0.01; done 2>/dev/null; wait $!; s=$?; clear; echo status $s\n")
    try terminal.wait { $0.lines.contains("status 143") }
    #expect(Self.isGivenBack(terminal.picture))
  }

  @Test func `a limit on its time ends it, although that puts it into the background`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.shell(namespace)
    // The inner shell does not control jobs, so timeout(1) creates a process group of its own.
    terminal.type("bash -c 'timeout 0.5 \(Programs.netwatch) top; echo status $?'\n")
    try terminal.wait { $0.lines.contains("status 124") }
    #expect(Self.isGivenBack(terminal.picture))
  }

  @Test(arguments: ["", "trap '' TSTP INT HUP; "])
  func `Ctrl-Z does nothing if nobody could continue it, or if it is to be ignored`(_ preparation: String) throws {
    let namespace = try NetworkNamespace.online()
    // The first case has no shell. In the second one, the shell has told its programs to ignore Ctrl-Z and Ctrl-C.
    let terminal = preparation.isEmpty ? try Self.top(namespace) : try Self.shell(namespace)
    if !preparation.isEmpty { terminal.type("(\(preparation)exec \(Programs.netwatch) top)\n") }
    try terminal.wait(until: Self.isDrawn)
    terminal.type("\u{1a}")
    if !preparation.isEmpty { terminal.type("\u{3}") }
    terminal.type("n")
    try terminal.wait { Self.isDrawn($0) && $0.text.contains("n name*") }
    #expect(terminal.isRaw)
  }

  @Test func `it draws again after it was stopped without being asked`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace)
    try terminal.wait(until: Self.isDrawn)
    let pid = terminal.child.pid
    terminal.child.signal(SIGSTOP)
    try terminal.wait(untilHolds: { (try? String(contentsOf: pid).contains("T (stopped)")) == true })
    // A shell changes the settings of the terminal to its own, and the table is no longer on the screen.
    terminal.set(terminal.settingsAtStart)
    terminal.resize(rows: 20, columns: 70)
    #expect(!terminal.isRaw)
    terminal.child.signal(SIGCONT)
    try terminal.wait(until: Self.isDrawn)
    try terminal.wait(untilHolds: { terminal.isRaw })
    terminal.type("q")
    try terminal.readToEnd()
    #expect(Self.isGivenBack(terminal.picture))
    #expect(terminal.settings.c_lflag == terminal.settingsAtStart.c_lflag)
  }

  @Test(arguments: ["</dev/null", "<&-", "< <(echo q)"])
  func `top runs without a terminal on standard input`(_ input: String) throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.shell(namespace)
    terminal.type("\(Programs.netwatch) top \(input)\n")
    try terminal.wait(until: Self.isDrawn)
    // If the terminal were not raw, it would echo typed text into the table.
    #expect(terminal.isRaw)
    terminal.type("\u{3}")
    try terminal.wait(until: Self.isGivenBack)
    terminal.type("s=$?; clear; echo status $s\n")
    try terminal.wait { $0.lines.contains("status 130") }
  }

  @Test func `it ends when its terminal is gone`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace)
    try terminal.wait(until: Self.isDrawn)
    terminal.hangUp()
    let ending = try terminal.child.wait()
    #expect([.signalled(SIGHUP), .exited(0)].contains(ending), "\(ending)")
  }

  @Test func `a terminal that cannot be drawn on gets tables one after the other`() throws {
    let namespace = try NetworkNamespace.online()
    let terminal = try Self.top(namespace, type: "dumb")
    try terminal.wait { picture in picture.lines.count { $0.hasPrefix("PROGRAM") } == 2 }
    #expect(terminal.picture.lines[3] == "")
    #expect(Self.isGivenBack(terminal.picture))
    #expect(!terminal.isRaw)
  }
}

extension String {
  /// Reads /proc/PID/status of a process.
  fileprivate init(contentsOf process: pid_t) throws {
    self = try ChildProcess.run(["cat", "/proc/\(process)/status"]).output.joined(separator: "\n")
  }
}
