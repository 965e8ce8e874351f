import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Tests that every block of the README does what the README says, and that the tutorial shows the same program. A block that builds
/// or installs something is run by a check of contrib/verify.
@Suite struct ReadmeTests {
  /// A fenced block of the README.
  struct Block: CustomTestStringConvertible, Sendable {
    let text: String
    var lines: [String] { text.split(separator: "\n").map(String.init) }
    var testDescription: String { lines.first ?? "" }
  }

  private static func text(_ file: String) throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

  /// The parts of the README that the fences separate. Every second one is a block, which begins with its language.
  private static let parts = ((try? Self.text("README.md")) ?? "").components(separatedBy: "\n```")
  static let blocks = parts.enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { part in
    Block(
      text: part.element.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
        + "\n")
  }

  private static let prose = parts.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined()

  @Test func `all code of the README is in blocks`() {
    #expect(!Self.parts.count.isMultiple(of: 2))
    #expect(Self.blocks.count > 10)
    #expect(Self.prose.split(separator: "\n").filter { $0.hasPrefix("    ") } == [])
  }

  @Test func `the commands between the blocks can be run`() throws {
    let commands = Self.prose.matches(of: /`(netwatch [^`]+)`/).map { String($0.output.1) }
    #expect(commands.count > 3)
    try commands.forEach(run)
    let scripts = Self.prose.matches(of: /`(contrib\/[a-z]+)`/).map { String($0.output.1) }
    #expect(scripts.filter { !FileManager.default.isExecutableFile(atPath: $0) } == [])
  }

  @Test(arguments: blocks) func `a block does what the README says`(_ block: Block) throws {
    let first = try #require(block.lines.first)
    if first.hasPrefix("netwatch serve") { return try showsRequest(block) }
    if first.hasPrefix("netwatch ") { return try block.lines.forEach(run) }
    if first == "$ netwatch" {
      // AnswerTests compares this file with what netwatch prints.
      let output = try Self.text("Tests/NetwatchCLITests/Golden/only-cable-out.txt")
      return #expect(block.text == first + "\n" + output)
    }
    if first.hasPrefix("now: ") { return try showsChange(block) }
    if first == "import Netwatch" { return #expect(block.text == (try Self.text("Tests/ReadmeExample/main.swift"))) }
    if first == "import Foundation" { return try makesRequests(block) }
    let checks = try FileManager.default.contentsOfDirectory(atPath: "contrib/verify.d").filter { $0.hasSuffix(".sh") }
    let taken = try checks.flatMap { check in
      try Self.text("contrib/verify.d/\(check)").matches(of: /readme_block '([^']+)'/).map { String($0.output.1) }
    }
    #expect(
      taken.contains { beginning in block.lines.contains { $0.hasPrefix(beginning) } },
      "no test runs this block, and no check of contrib/verify reads it by readme_block")
  }

  @Test func `the links of the README lead to files`() throws {
    let links = try Self.text("README.md").matches(of: /\]\(([^):]+)\)/).map { String($0.output.1) }
    #expect(links.filter { !FileManager.default.fileExists(atPath: $0) } == [])
    for page in ["NetwatchHTTP/NetwatchHTTP.docc/EverydayJobs.md", "Netwatch/Netwatch.docc/StatusBars.md"] {
      #expect(links.contains("Sources/\(page)"))
    }
  }

  // MARK: Commands

  private static func environment(_ folder: TemporaryFolder) -> [String] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return [
      "PATH=\(folder.path):\(Programs.folder):\(path)", "HOME=\(folder.path)", "NETWATCH_SOCKET=\(folder.file("s"))",
    ]
  }

  /// Runs a line as a shell does, on a machine that is online. A command that ends has to succeed; the others are ended after their
  /// first line.
  private func run(_ line: String) throws {
    let folder = try TemporaryFolder()
    try folder.installScript("true", as: "notify-send")
    let (namespace, offline) = (try NetworkNamespace.online(), try NetworkNamespace())
    defer { withExtendedLifetime((folder, namespace, offline)) {} }
    try namespace.waitUntilRunning("v0")
    func start(in namespace: NetworkNamespace) throws -> ChildProcess {
      try ChildProcess(
        namespace.command(["sh", "-c", "cd '\(folder.path)' && exec \(line)"]), environment: Self.environment(folder))
    }
    let child = try start(in: namespace)
    if line.hasPrefix("netwatch -f ") || line.hasPrefix("netwatch --follow ") {
      #expect(try child.nextLine()?.contains("v0") == true)
    } else {
      let (ending, error) = (try child.wait(), try child.errorText())
      #expect(ending == .exited(0), "\(line): \(error)")
    }
    if line.contains(" --check") { #expect(try start(in: offline).wait() == .exited(1)) }
  }

  private func showsRequest(_ block: Block) throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    defer { withExtendedLifetime((folder, namespace)) {} }
    try folder.installScript("read -r line", as: "rsync")
    let terminal = try PseudoTerminal(
      namespace.command(["env"] + Self.environment(folder) + [Programs.netwatch, "--follow"]))
    try terminal.wait { $0.text.contains("v0") }
    let script = "trap 'kill $!' EXIT\n\(block.text)read -r line"
    let shell = try ChildProcess(namespace.command(["sh", "-c", script]), environment: Self.environment(folder))
    try terminal.wait { $0.text.contains("busy, 1 in flight") }
    shell.write("\n")
    try terminal.wait { $0.text.contains("idle") }
    shell.write("\n")
    #expect(try shell.wait() == .exited(0))
  }

  // MARK: Swift

  /// Pulls the cable of the README's example. The link of a namespace is virtual, and not a cable.
  private func showsChange(_ block: Block) throws {
    let namespace = try NetworkNamespace()
    try namespace.configure(
      "link add eth0 type veth peer name cable", "link set cable up", "link set eth0 up",
      "addr add 10.0.0.2/24 dev eth0",
      "route add default via 10.0.0.1")
    defer { withExtendedLifetime(namespace) {} }
    try namespace.waitUntilRunning("eth0")
    // `stdbuf` makes the example write each line at once. Into a pipe, `print` would hold its lines back.
    let example = try ChildProcess(namespace.command(["stdbuf", "-oL", Programs.readmeExample]))
    for line in block.lines {
      if line.hasPrefix("not reachable") { try namespace.run("ip link set cable down") }
      #expect(try example.nextLine() == line.replacing("wired", with: "virtual"))
    }
  }

  private func makesRequests(_ block: Block) throws {
    #expect(block.text == (try Self.text("Tests/ReadmeHTTPExample/main.swift")))
    let server = try WebServer(
      """
      default_type application/json;
      location = /users/1 { return 200 '{"name":"Ali"}'; }
      location = /users { return 201 '{"name":"Eva"}'; }
      """)
    let (ending, output, error) = try ChildProcess.run(
      server.network.command([Programs.readmeHTTPExample, "http://127.0.0.1/"]))
    #expect(ending == .exited(0), "\(error)")
    #expect(output == ["Ali Eva"])
    #expect(error == "")
    #expect(
      server.answers.map { $0.split(separator: " ").prefix(3) } == [
        ["GET", "/users/1", "200"], ["POST", "/users", "201"],
      ])
  }

  // MARK: The tutorial

  private static let tutorial = "Sources/Netwatch/Netwatch.docc/Tutorial"

  @Test func `the tutorial ends with the program and the manifest of the README`() throws {
    #expect(Self.blocks.contains { $0.text == (try? Self.text("\(Self.tutorial)/five-lines-3.swift")) })
    #expect(Self.blocks.contains { $0.text == (try? Self.text("\(Self.tutorial)/five-lines-package.swift")) })
    let program = try Self.text("\(Self.tutorial)/five-lines-3.swift")
    for step in 1...2 {
      #expect(program.hasPrefix(try Self.text("\(Self.tutorial)/five-lines-\(step).swift")))
    }
  }

  @Test func `the picture of the tutorial shows what the program prints`() throws {
    let picture = try Self.text("\(Self.tutorial)/five-lines.svg")
    let lines = picture.matches(of: /<text y="\d+">(.*)<\/text>/).map {
      String($0.output.1).replacing(/<[^>]*>/, with: "")
    }
    let output = try #require(Self.blocks.first { $0.testDescription.hasPrefix("now: ") })
    #expect(lines == ["$swift run example"] + output.lines)
  }
}
