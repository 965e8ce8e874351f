import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The rule files: who reads them and which ones are trusted. Their changes count at once.
@Suite struct RuleFileTests {
  /// A machine with its own `/etc/netwatch`, and a user with a folder. In this class, their files are in `etc` and
  /// `home/netwatch`.
  private final class Machine {
    let namespace: NetworkNamespace
    private let program: String
    private let probe: String
    private let files: TemporaryFolder

    /// A shell script that mounts another /etc and another /run. The files of the machine are linked into the new /etc,
    /// and the test's `etc` becomes `/etc/netwatch`.
    private static let otherEtc = """
      mount --bind /etc "$0/real" && mount -t tmpfs -o mode=755 tmpfs /etc && for f in "$0"/real/*; do ln -s "$f" /etc/; done
      rm -f /etc/netwatch && mkdir /etc/netwatch && mount --bind "$0/etc" /etc/netwatch && mount --bind "$0/run" /run && exec "$@"
      """

    init(in namespace: NetworkNamespace? = nil) throws {
      self.namespace = try namespace ?? .online()
      files = try TemporaryFolder()
      for name in ["real", "etc", "run", "home/netwatch"] { try files.makeFolder(name) }
      program = try files.install(Programs.netwatch)
      probe = try files.install(Programs.probe)
      _ = try files.install(Programs.netwatchHTTP)
      for name in ["home", "home/netwatch"] { give(name) }
    }

    /// Makes the user the owner of a file.
    private func give(_ name: String) {
      if NetworkNamespace.isRoot { _ = unsafe chown(files.file(name), 65_534, 65_534) }
    }

    func write(_ text: String, to name: String) throws {
      try files.write(text, to: name)
      if name.hasPrefix("home") { give(name) }
    }

    func rename(_ old: String, to new: String) throws { try files.rename(old, to: new) }
    func remove(_ name: String) throws { try files.remove(name) }
    func link(_ name: String, to target: String) throws { try files.link(name, to: files.file(target)) }
    func setMode(_ mode: mode_t, of name: String) { _ = unsafe chmod(files.file(name), mode) }
    func path(_ name: String) -> String { files.file(name) }

    private var environment: [String] { ["XDG_CONFIG_HOME=\(files.file("home"))", "NETWATCH_SOCKET="] }

    private func command(_ words: [String], isUser: Bool) -> [String] {
      let user =
        NetworkNamespace.isRoot
        ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        : ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
      let shell = ["unshare", "--mount", "--propagation", "private", "sh", "-c", Self.otherEtc, files.path]
      return namespace.command(shell + (isUser ? user : []) + words)
    }

    /// - Parameter state: The folder for the user's state. Default: none.
    func start(_ words: String..., isUser: Bool = true, state: String? = nil) throws -> ChildProcess {
      try ChildProcess(
        command([program] + words, isUser: isUser),
        environment: environment + (state.map { ["XDG_STATE_HOME=\($0)", "XDG_RUNTIME_DIR="] } ?? []))
    }

    func follow(_ options: String..., isUser: Bool = true) throws -> Follow {
      try Follow(
        ChildProcess(
          command([program, "-f", "--json"] + options, isUser: isUser),
          environment: environment))
    }

    func startLibrary() throws -> ChildProcess {
      try ChildProcess(command([probe, "rules"], isUser: true), environment: environment)
    }

    /// Runs `netwatch status`, and returns the cost in its first line and the lines of standard error.
    func cost(_ options: String..., isUser: Bool = true) throws -> (cost: String, error: [String]) {
      let process = try ChildProcess(
        command([program, "status", "--json"] + options, isUser: isUser),
        environment: environment)
      let line = try Line(#require(try process.nextLine()))
      return (line.cost, try process.errorText().split(separator: "\n").map(String.init))
    }
  }

  @Test func `a rule of the machine counts for everybody, and each change of it at once`() throws {
    let machine = try Machine()
    let follows = [try machine.follow(), try machine.follow(isUser: false)]
    let library = try machine.startLibrary()
    for follow in follows { #expect(try follow.next().cost == "free") }
    #expect(try library.nextLine() == "wifi virtual v0 - 0")
    // A file that is changed in several steps may be read after each step.
    func expect(_ cost: String, _ path: String, at place: SourceLocation = #_sourceLocation) throws {
      for follow in follows {
        var line: Line
        repeat {
          line = try follow.next(at: place)
          #expect(line.reason == "rules_changed", sourceLocation: place)
        } while line.cost != cost
      }
      while try library.nextLine(at: place) != path {}
    }
    try machine.write("metered interface v0\n", to: "etc/rules")
    try expect("rule", "wifi virtual v0 rule 0")
    // The new file replaces the old one, as editors do it.
    try machine.write("metered interface v*\nconstrained interface \"v0\"\n", to: "etc/new")
    try machine.rename("etc/new", to: "etc/rules")
    try expect("rule constrained", "wifi virtual v0 rule 1")
    // The folder did not exist before. A symbolic link in it leads to a file elsewhere.
    try machine.write("no constrained interface \"v0\"\n", to: "etc/rules.d/10-first")
    try expect("rule", "wifi virtual v0 rule 0")
    try machine.write("", to: "elsewhere")
    try machine.link("etc/rules.d/20-link", to: "elsewhere")
    try machine.write("not-metered interface v0\n", to: "etc/rules.d/15-second")
    try expect("free", "wifi virtual v0 - 0")
    try machine.write("metered interface v0\n", to: "elsewhere")
    try expect("rule", "wifi virtual v0 rule 0")
    try machine.remove("etc/rules.d")
    try expect("rule constrained", "wifi virtual v0 rule 1")
    try machine.remove("etc/rules")
    try expect("free", "wifi virtual v0 - 0")
  }

  @Test func `a download that must cost nothing heeds the rules, and each change of them`() throws {
    let machine = try Machine()
    try machine.write("metered interface v0\n", to: "etc/rules")
    let state = machine.path("home")
    let later = try machine.start(
      "get", "--later", "--for", "unmetered", "-o", "\(state)/it", "http://203.0.113.9/it", state: state)
    #expect(try later.wait() == .exited(0))
    func reason() throws -> String {
      try machine.start("transfers", state: state).nextLine() ?? ""
    }
    try eventually(reason()) { $0.hasSuffix("waits for a network that costs nothing") }
    try machine.write("", to: "etc/rules")
    try eventually(reason()) { !$0.hasSuffix("waits for a network that costs nothing") }
    #expect(try machine.start("transfers", "cancel", "1", state: state).wait() == .exited(0))
    try eventually(reason()) { $0.hasSuffix("cancelled") }
  }

  @Test func `later files and options win`() throws {
    let machine = try Machine()
    try machine.write("metered interface v0\nmodem v0\n", to: "etc/rules")
    #expect(try machine.cost().cost == "rule")
    try machine.write("not-metered interface v0\n", to: "home/netwatch/rules")
    #expect(try machine.cost().cost == "free")
    // For root, the user's file does not count.
    #expect(try machine.cost(isUser: false).cost == "rule")
    try machine.write("no not-metered interface v0\n", to: "home/netwatch/rules.d/a")
    #expect(try machine.cost().cost == "rule")
    try machine.write("no metered interface v0\n", to: "home/netwatch/rules.d/b")
    #expect(try machine.cost().cost == "modem")
    #expect(try machine.cost("--not-expensive", "v0").cost == "free")
    #expect(try machine.cost("--no-rules").cost == "free")
  }

  @Test func `a broken line is named with its file and number, and the other lines count`() throws {
    let machine = try Machine()
    try machine.write("meterd interface v0\nmetered interface v0\nconstrained v0\n", to: "etc/rules")
    let (cost, error) = try machine.cost()
    #expect(cost == "rule")
    #expect(error.count == 2)
    #expect(
      error.first?.hasPrefix("netwatch: /etc/netwatch/rules:1: there is no rule 'meterd'; the words are ") == true)
    #expect(error.last == "netwatch: /etc/netwatch/rules:3: constrained needs ssid NAME or interface NAME after it")
    // The fault is reported once, even if the files are read again.
    let follow = try machine.follow()
    #expect(try follow.next().cost == "rule")
    #expect(try follow.process.nextErrorLine() == error[0])
    #expect(try follow.process.nextErrorLine() == error[1])
    try machine.write("not-metered interface v0\nno\n", to: "home/netwatch/rules")
    #expect(try follow.next().cost == "free")
    #expect(
      try follow.process.nextErrorLine()
        == "netwatch: \(machine.path("home/netwatch/rules")):2: no needs the statement that it takes back, such as no modem ppp0"
    )
  }

  @Test func `a file that others can change does not count, and is named`() throws {
    let machine = try Machine()
    try machine.write("metered interface v0\n", to: "etc/rules")
    machine.setMode(0o666, of: "etc/rules")
    var (cost, error) = try machine.cost()
    #expect(cost == "free")
    #expect(
      error == [
        "netwatch: /etc/netwatch/rules: others can write to '/etc/netwatch/rules'; run: chmod go-w '/etc/netwatch/rules'; no rule of it counts"
      ])
    machine.setMode(0o644, of: "etc/rules")
    machine.setMode(0o777, of: "etc")
    (cost, error) = try machine.cost()
    #expect(cost == "free")
    #expect(error.first?.contains("others can write to '/etc/netwatch'") == true)
    machine.setMode(0o755, of: "etc")
    machine.setMode(0o000, of: "etc/rules")
    (cost, error) = try machine.cost()
    // Root may read any file.
    #expect(
      error == [
        "netwatch: /etc/netwatch/rules: '/etc/netwatch/rules' cannot be opened: Permission denied; no rule of it counts"
      ])
    machine.setMode(0o644, of: "etc/rules")
    #expect(try machine.cost().cost == "rule")
    // A process that runs notices that the file is no longer trusted, and that it is trusted again.
    let follow = try machine.follow()
    #expect(try follow.next().cost == "rule")
    for (mode, cost) in [(0o777, "free"), (0o755, "rule")] as [(mode_t, String)] {
      machine.setMode(mode, of: "etc")
      #expect(try follow.next().cost == cost)
    }
    // A pipe to which nobody writes, and a file that is too long, do not count.
    try machine.remove("etc/rules")
    #expect(unsafe mkfifo(machine.path("etc/rules"), 0o644) == 0)
    (cost, error) = try machine.cost()
    #expect(error == ["netwatch: /etc/netwatch/rules: it is not a file; no rule of it counts"])
    try machine.remove("etc/rules")
    try machine.write(String(repeating: "# long\n", count: 10_000), to: "etc/rules")
    (cost, error) = try machine.cost()
    #expect(error == ["netwatch: /etc/netwatch/rules: it is longer than 64 KiB; no rule of it counts"])
  }

  @Test func `a folder that others can write to is no matter where there are no rules`() throws {
    let machine = try Machine()
    try machine.remove("home/netwatch")
    machine.setMode(0o777, of: "home")
    let (cost, error) = try machine.cost()
    #expect(cost == "free")
    #expect(error == [])
    try machine.write("metered interface v0\n", to: "home/netwatch/rules")
    #expect(try machine.cost().error.count == 1)
  }

  @Test func `traffic is told on, by whoever tells it`() throws {
    let machine = try Machine()
    let service = try machine.start("serve", isUser: false)
    let path = machine.path("run/netwatch/netwatch.sock")
    _ = try eventually(try? ServiceClient(path).next().event) { $0 != nil }
    let follow = try machine.follow("--traffic", "--traffic-interval", "0.1")
    func waitForTraffic() throws {
      var count = 0
      while count < 3 { if try follow.next().event == "traffic" { count += 1 } }
    }
    try waitForTraffic()
    try machine.write("metered interface v0\n", to: "home/netwatch/rules")
    while try follow.next().cost != "rule" {}
    try waitForTraffic()
    try machine.remove("home/netwatch/rules")
    while try follow.next().cost != "free" {}
    try waitForTraffic()
    withExtendedLifetime(service) {}
  }

  @Test func `a line that waits for a probe comes when the rule that asks for it goes`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far, answering: "hang")
    let machine = try Machine(in: networks.near)
    try machine.write("probe \(AnswerServer.url)\n", to: "etc/rules")
    let status = try machine.start("status", "--json", "--probe-timeout", "600")
    try server.nextRequest()
    try machine.write("", to: "etc/rules")
    let line = try Line(#require(try status.nextLine()))
    #expect(line.internet == nil)
    #expect(line.summary == "wifi initial v0")
    #expect(try status.wait() == .exited(0))
  }

  @Test func `a probe that a rule asks for is made as if an option did`() throws {
    let networks = try TwoNetworks()
    let server = try AnswerServer(in: networks.far)
    let machine = try Machine(in: networks.near)
    let follow = try machine.follow()
    #expect(try follow.next().internet == nil)
    try machine.write("probe \(AnswerServer.url)\n", to: "etc/rules")
    let line = try follow.next()
    #expect(line.reason == "rules_changed")
    #expect(line.internet == "unknown")
    #expect(try follow.next().internet == "full")
    let status = try machine.start("status", "--json")
    #expect(try Line(#require(try status.nextLine())).internet == "full")
    let wait = try machine.start("wait", "--for", "internet", "--json")
    #expect(try Line(#require(try wait.nextLine())).internet == "full")
    #expect(try wait.wait() == .exited(0))
    // Without the rule no server is asked, so a condition that needs an answer is refused.
    let refused = try machine.start("wait", "--for", "internet", "--no-rules")
    #expect(try refused.nextErrorLine()?.contains("internet needs an answer from a server; add --probe.") == true)
    try machine.write("no probe\n", to: "home/netwatch/rules")
    let last = try follow.next()
    #expect(last.reason == "rules_changed")
    #expect(last.internet == nil)
    withExtendedLifetime(server) {}
  }

  @Test func `the service obeys the machine, and nothing of a user's rules reaches it`() throws {
    let machine = try Machine()
    let path = machine.path("run/netwatch/netwatch.sock")
    try machine.write("metered interface v0\nprobe\n", to: "etc/rules")
    try machine.write("not-metered interface v0\n", to: "home/netwatch/rules")
    let service = try machine.start("serve", isUser: false)
    #expect(
      try service.nextErrorLine()
        == "netwatch: /etc/netwatch/rules:2: probe takes one URL, such as http://example.org/generate_204")
    _ = try eventually(try? ServiceClient(path).next().event) { $0 != nil }
    let (other, follow) = (try machine.follow(isUser: false), try machine.follow())
    #expect(try other.next().cost == "rule")
    #expect(try follow.next().cost == "free")
    // The service still counts requests for a client that has rules of its own.
    let client = try ServiceClient(path)
    client.send("{\"begin\":\"a\"}")
    #expect(try follow.next().inFlight == 1)
    #expect(try other.next().inFlight == 1)
    // Without rules of the user's own, the client uses the line of the service.
    try machine.remove("home/netwatch/rules")
    let served = try follow.next()
    #expect(served.cost == "rule")
    #expect(served.reason == "rules_changed")
    try machine.write("constrained interface v0\n", to: "home/netwatch/rules")
    let line = try follow.next()
    #expect(line.cost == "rule constrained")
    #expect(line.reason == "rules_changed")
    // The service and the client both apply a new rule of the machine.
    try machine.write("not-metered interface v0\n", to: "etc/rules")
    #expect(try follow.next().cost == "free constrained")
    #expect(try other.next().cost == "free")
  }
}
