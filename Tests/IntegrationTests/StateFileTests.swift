import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The files that netwatch writes: in folders of other users, behind symbolic links of other users, and without room.
@Suite struct StateFileTests {
  private static let stranger: uid_t = 4_242

  private let folder: TemporaryFolder
  private var state: String { "XDG_STATE_HOME=\(folder.path)" }

  init() throws { folder = try TemporaryFolder() }

  private func mode(_ name: String) throws -> mode_t {
    var status = stat()
    guard unsafe lstat(folder.file(name), &status) == 0 else { throw TestFailure("no \(name)") }
    return status.st_mode & 0o7777
  }

  private func give(_ names: String...) throws {
    for name in names {
      guard unsafe lchown(folder.file(name), Self.stranger, Self.stranger) == 0 else {
        throw TestFailure("chown \(name)")
      }
    }
  }

  private func follow(_ namespace: NetworkNamespace, _ environment: [String]) throws -> Follow {
    try Follow(
      ChildProcess(namespace.command([Programs.netwatch, "-f", "--json", "--log"]), environment: environment))
  }

  // MARK: Other owners

  /// `sudo` without `-H` leaves the environment like this.
  @Test(arguments: ["", ".local", ".local/state", ".local/state/netwatch"])
  func `root creates nothing in the home of another user, and follows no link there`(link: String) throws {
    guard NetworkNamespace.isRoot else { return }
    let namespace = try NetworkNamespace.online()
    try folder.makeFolder("home")
    try folder.makeFolder("victim")
    _ = unsafe chmod(folder.file("victim"), 0o755)
    let parent = link.split(separator: "/").dropLast().joined(separator: "/")
    if !link.isEmpty {
      try folder.makeFolder("home/\(parent)")
      try folder.link("home/\(link)", to: folder.file("victim"))
    }
    try give("home")
    if !link.isEmpty { try give("home/\(link)") }
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.file("home"))
    let environment = ["XDG_STATE_HOME=", "HOME=\(folder.file("home"))"]
    let follow = try follow(namespace, environment)
    _ = try follow.next()
    #expect(
      try follow.process.nextErrorLine()
        == "netwatch: the log is not written, because '\(folder.file("home"))' belongs to another user; run netwatch as that "
        + "user, or set XDG_STATE_HOME to a folder of your own (sudo -H sets HOME)")
    // netwatch continues to print lines.
    try namespace.run("ip link set v1 down")
    _ = try follow.next()
    follow.process.signal(SIGTERM)
    _ = try follow.process.wait()
    let key = try status(namespace, environment)
    #expect(key.ending == .exited(2))
    #expect(
      key.error
        == "netwatch: cannot keep the salt of network IDs in '\(folder.file("home"))/.local/state/netwatch/network-salt': "
        + "'\(folder.file("home"))' belongs to another user; run systemd-machine-id-setup, or set XDG_STATE_HOME")
    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.file("home")) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("victim")) == [])
    #expect(try mode("victim") == 0o755)
  }

  @Test(arguments: ["log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "log.lock"])
  func `a file of the log that is a link is not followed`(name: String) throws {
    let namespace = try NetworkNamespace.online()
    try folder.makeFolder("netwatch")
    try folder.link("netwatch/\(name)", to: folder.file("victim"))
    for text in ["", "mine"] {
      if !text.isEmpty { try folder.write(text, to: "victim") }
      let follow = try follow(namespace, [state])
      _ = try follow.next()
      let line = try follow.process.nextErrorLine()
      let file = folder.file("netwatch/\(name)")
      #expect(
        line == "netwatch: the log is not written, because '\(file)' is not a regular file; move it away"
          || text.isEmpty
            && line
              == "netwatch: the log is not written, because '\(folder.file("victim"))' cannot be opened: No such file or directory",
        "\(line ?? "")")
      #expect(folder.text(of: "victim") == text)
      #expect(FileManager.default.fileExists(atPath: folder.file("victim")) == !text.isEmpty)
    }
  }

  @Test func `a folder keeps its mode, whoever has made it`() throws {
    let namespace = try NetworkNamespace.online()
    for (parent, own) in [(0o755, 0o755), (0o750, 0o711)] as [(mode_t, mode_t)] {
      try folder.makeFolder("s\(own)/netwatch")
      _ = unsafe chmod(folder.file("s\(own)"), parent)
      _ = unsafe chmod(folder.file("s\(own)/netwatch"), own)
      let result = try ChildProcess.run(
        namespace.command([Programs.netwatch, "-f", "--json", "--log", "--count", "1"]),
        environment: ["XDG_STATE_HOME=\(folder.file("s\(own)"))"])
      #expect(result.ending == .exited(0) && result.error == "", "\(result.error)")
      #expect(try mode("s\(own)") == parent)
      #expect(try mode("s\(own)/netwatch") == own)
      #expect(try mode("s\(own)/netwatch/log.sqlite") == 0o600)
    }
  }

  /// With the umask 002, every folder of a user has these permissions. Folders of root do not.
  @Test func `a folder that a group may write to is a user's own, and not root's`() throws {
    guard NetworkNamespace.isRoot else { return }
    let namespace = try NetworkNamespace.online()
    try folder.makeFolder("state")
    _ = unsafe chmod(folder.file("state"), 0o775)
    let refused = try follow(namespace, ["XDG_STATE_HOME=\(folder.file("state"))"])
    _ = try refused.next()
    #expect(
      try refused.process.nextErrorLine()
        == "netwatch: the log is not written, because others can write to '\(folder.file("state"))'; run: chmod go-w "
        + "'\(folder.file("state"))'")
    _ = unsafe chmod(folder.path, 0o755)
    try give("state")
    let program = try folder.install(Programs.netwatch)
    _ = try folder.install(Programs.log)
    let user = ["setpriv", "--reuid=\(Self.stranger)", "--regid=\(Self.stranger)", "--clear-groups", "--"]
    let result = try ChildProcess.run(
      namespace.command(user + [program, "-f", "--json", "--log", "--count", "1"]),
      environment: ["XDG_STATE_HOME=\(folder.file("state"))"])
    #expect(result.ending == .exited(0) && result.error == "", "\(result.error)")
    #expect(FileManager.default.fileExists(atPath: folder.file("state/netwatch/log.sqlite")))
  }

  @Test func `root reads a log of another user and creates nothing beside it`() throws {
    guard NetworkNamespace.isRoot else { return }
    let namespace = try NetworkNamespace.online()
    let made = try ChildProcess.run(
      namespace.command([Programs.netwatch, "-f", "--json", "--log", "--count", "1"]), environment: [state])
    #expect(made.ending == .exited(0))
    let before = try folder.names + FileManager.default.contentsOfDirectory(atPath: folder.file("netwatch")).sorted()
    try give("netwatch")
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("netwatch")) {
      try give("netwatch/\(name)")
    }
    let read = try ChildProcess.run([Programs.netwatch, "log", "--json"], environment: [state])
    #expect(read.ending == .exited(0) && read.output.count == 1, "\(read.error)")
    #expect(
      try folder.names + FileManager.default.contentsOfDirectory(atPath: folder.file("netwatch")).sorted() == before)
  }

  // MARK: The salt

  /// Runs `netwatch status --network-id` on a machine that has no ID (/etc/machine-id).
  private func status(
    _ namespace: NetworkNamespace, _ environment: [String]
  ) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
    try ChildProcess.run(
      namespace.command([
        "unshare", "--mount", "sh", "-c",
        "[ ! -e /etc/machine-id ] || mount --bind /dev/null /etc/machine-id; exec \"$@\"", "sh", Programs.netwatch,
        "status", "--json", "--network-id",
      ]), environment: environment)
  }

  @Test(arguments: ["empty", "short", "long", "zeros", "link", "folder", "pipe"])
  func `a salt that is none is set aside, and that is said once`(damage: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:07 dev v0 nud permanent")
    let (name, path) = ("netwatch/network-salt", folder.file("netwatch/network-salt"))
    try folder.makeFolder("netwatch")
    switch damage {
    case "empty": try folder.write("", to: name)
    case "short": try folder.write(String(repeating: "x", count: 31), to: name)
    case "long": try folder.write(String(repeating: "x", count: 33), to: name)
    case "zeros": try folder.write(Data(count: 32), to: name)
    case "link":
      try folder.write(String(repeating: "x", count: 32), to: "victim")
      try folder.link(name, to: folder.file("victim"))
    case "folder": try folder.makeFolder(name)
    default: #expect(unsafe mkfifo(path, 0o600) == 0)
    }
    let first = try status(namespace, [state])
    #expect(first.ending == .exited(0), "\(first.error)")
    #expect(
      first.error.hasPrefix(
        "netwatch: the salt of network IDs '\(path)' was damaged and renamed to 'network-salt.damaged-"),
      "\(first.error)")
    #expect(first.error.hasSuffix("'; all network IDs change"))
    let second = try status(namespace, [state])
    #expect(second.error == "")
    func id(_ lines: [String]) -> String? {
      lines.first?.split(separator: "\"network_id\":").last.map { String($0.prefix(20)) }
    }
    #expect(id(first.output) != nil && id(first.output) == id(second.output))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("netwatch")).sorted()
    #expect(names.count == 2 && names[0] == "network-salt" && names[1].hasPrefix("network-salt.damaged-"), "\(names)")
    #expect(try mode(name) == 0o600)
  }

  // MARK: The largest size of a file

  /// Returns a command that runs another one with a limit on the size of the files that it writes.
  ///
  /// - Parameter bytes: The limit in bytes, which the program may raise.
  private static func limited(_ bytes: Int, _ command: [String]) -> [String] {
    ["prlimit", "--fsize=\(bytes):unlimited"] + command
  }

  @Test(arguments: [0, 1, 4_096]) func `a report that may not become so large leaves nothing`(limit: Int) throws {
    let namespace = try NetworkNamespace.online()
    let made = try ChildProcess.run(
      namespace.command([Programs.netwatch, "-f", "--json", "--log", "--count", "1"]), environment: [state])
    #expect(made.ending == .exited(0))
    try folder.makeFolder("pages")
    try folder.write("old", to: "pages/it.html")
    // The files that SQLite needs to read the log exist already.
    for path in ["pages/it.html", "pages/new.html"] {
      let result = try ChildProcess.run(
        Self.limited(
          limit, [Programs.netwatch, "report", folder.file(path), "--file", folder.file("netwatch/log.sqlite")]),
        environment: ["XDG_STATE_HOME=/nonexistent"])
      #expect(result.ending == .exited(2))
      if limit > 1 {
        #expect(result.error == "netwatch: no room is left for '\(folder.file(path))': File too large")
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("pages")) == ["it.html"])
      #expect(folder.text(of: "pages/it.html") == "old")
    }
  }

  @Test func `a log that may not become larger waits until it may`() throws {
    let namespace = try NetworkNamespace.online()
    let process = try ChildProcess(
      namespace.command(Self.limited(65_536, [Programs.netwatch, "-f", "--json", "--log"])), environment: [state])
    let follow = Follow(process)
    _ = try follow.next()
    func flap() throws {
      for change in ["down", "up"] {
        try namespace.run("ip link set v1 \(change)")
        _ = try follow.next()
      }
    }
    var rounds = 0
    while !process.hasErrorLine, rounds < 500 {
      try flap()
      rounds += 1
    }
    #expect(
      try process.nextErrorLine()
        == "netwatch: no room is left for the log '\(folder.file("netwatch/log.sqlite"))'; the last 1024 changes wait until "
        + "there is some")
    for _ in 0..<3 { try flap() }
    let children = try String(contentsOfFile: "/proc/\(process.pid)/task/\(process.pid)/children", encoding: .utf8)
    let writer = try #require(children.split(separator: " ").first)
    let raised = try ChildProcess.run(["prlimit", "--pid", String(writer), "--fsize=unlimited"])
    #expect(raised.ending == .exited(0), "\(raised.error)")
    try flap()
    let expected = 1 + 2 * (rounds + 4)
    let command = [Programs.netwatch, "log", "--json"]
    let stored = try eventually(ChildProcess.run(command, environment: [state]).output.count) { $0 >= expected }
    #expect(stored == expected)
    process.signal(SIGTERM)
    _ = try process.wait()
    #expect(try process.errorText() == "")
  }

  @Test func `a recording that may not become larger is complete up to there`() throws {
    let namespace = try NetworkNamespace.online()
    let trace = folder.file("trace")
    let process = try ChildProcess(
      namespace.command(Self.limited(40_000, [Programs.netwatch, "-f", "--json", "--record", trace])))
    var lines = 0
    while try process.nextLine() != nil {
      lines += 1
      try? namespace.run("ip link set v1 \(lines.isMultiple(of: 2) ? "up" : "down")")
    }
    #expect(try process.wait() == .exited(2))
    #expect(try process.errorText() == "netwatch: cannot write '\(trace)': File too large")
    let bytes = try Data(contentsOf: URL(filePath: trace))
    #expect(bytes.last == UInt8(ascii: "\n") && bytes.count <= 40_000 && lines > 0)
  }

  @Test(arguments: [0, 100, 20_000]) func `a download that may not become so large says so`(limit: Int) throws {
    let server = try WebServer()
    try server.serve("it", bytes: 100_000)
    let get = [Programs.netwatch, "get", "http://127.0.0.1/it"]
    let result = try ChildProcess.run(server.command(Self.limited(limit, get)))
    #expect(result.ending == .exited(1))
    #expect(
      result.error.hasPrefix("netwatch: no room is left for it: a file may not become larger here (see ulimit -f)"),
      "\(result.error)")
    // Only the files with which the download can be resumed are kept.
    #expect(try server.home.names.allSatisfy { ["it.netwatch-part", "it.netwatch-part.json"].contains($0) })
    #expect(try !server.home.names.contains("it"))
    let complete = try ChildProcess.run(server.command(get))
    #expect(complete.ending == .exited(0), "\(complete.error)")
    #expect(server.isSame("it", as: "it"))
    #expect(try server.home.names == ["it"])
  }

  @Test(arguments: [["status", "--json"], ["log", "--help"]])
  func `standard output that may not become larger is an error`(_ command: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      namespace.command(
        Self.limited(20, ["sh", "-c", "exec \"$@\" >'\(folder.file("out"))'", "sh", Programs.netwatch] + command)),
      environment: [state])
    #expect(result.ending == .exited(2))
    #expect(result.error == "netwatch: cannot write to standard output: File too large", "\(result.error)")
  }

  @Test func `a name that belongs to something else says what it is`() throws {
    let server = try WebServer()
    try server.serve("it", text: "it")
    #expect(unsafe mkfifo(server.home.file("it.netwatch-part"), 0o600) == 0)
    let result = try server.get("http://127.0.0.1/it")
    #expect(result.ending == .exited(1))
    #expect(result.error == "netwatch: cannot write it: not a regular file", "\(result.error)")
  }
}
