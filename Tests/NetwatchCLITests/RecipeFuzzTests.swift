import CLinux
import Foundation
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// Whatever the name of a WiFi network is: no recipe of this project runs it, expands it, or lets it break a line.
@Suite struct RecipeFuzzTests {
  /// Names that run commands, or that have a meaning for a shell, for printf or for a reader of lines. They have at
  /// most 32 bytes.
  private static let attacks: [String] = [
    "$(touch pwned)", "`touch pwned`", ";touch pwned;", "\ntouch pwned\n", "'; touch pwned; '", "\"; touch pwned; \"",
    "' $(touch pwned) '", "\"$(touch pwned)\"", "|touch pwned", "&& touch pwned", "& touch pwned &", "$HOME", "${PATH}",
    "$((1+1))", "%n%n%n%s", "%s%d%x", "\\n\\t\\0", "*", "?", "~", "[a-z]*", "{a,b}", "-n", "--help", "-rf /", "--",
    "\u{1b}]0;x\u{7}", "\u{1b}[2J", "a\r\nb", "a\0b", "\0", "\u{202e}abc", "NETWATCH_STATUS=wifi",
    "\nNETWATCH_STATUS=x",
    "<(touch pwned)", ">pwned", "2>pwned", "<pwned", "!!", "!touch", "#", "a=b", "() { :;}; touch pwned", "x\u{2028}y",
    "\\", "\\\"", "\"}", "\",\"x\":\"", "\u{fffd}", "日本語", "👩‍👩‍👧",
  ]

  private static func name(_ random: inout SplitMix) -> [UInt8] {
    let minded = Array("$$``\"\"'';;||&&(){}<>\\\\\n%*?~!#- =touch pwned".utf8)
    func any(_ bytes: [UInt8]?, upTo count: Int) -> [UInt8] {
      (0..<Int.random(in: 0...count, using: &random)).map { _ in
        bytes.map { $0[Int.random(in: $0.indices, using: &random)] } ?? UInt8(truncatingIfNeeded: random.next())
      }
    }
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return any(nil, upTo: 32)
    case 1: return any(minded, upTo: 32)
    default:
      let attack = Array(attacks[Int.random(in: attacks.indices, using: &random)].utf8)
      return Array((any(minded, upTo: 4) + attack + any(nil, upTo: 4)).prefix(32))
    }
  }

  /// A folder in which each program that a recipe calls is a script that prints its arguments, one in each line.
  private final class World {
    let folder: TemporaryFolder
    /// The names of the files in the folder, before and after everything.
    let names = ["bin", "empty"]

    init() throws {
      folder = try TemporaryFolder()
      try folder.makeFolder("bin")
      try folder.write("", to: "empty")
      for name in ["notify-send", "curl", "systemctl", "restic"] {
        try add(name, "for argument; do printf '<%s>\\n' \"$argument\"; done")
      }
    }

    /// Adds a script. Another process writes it, because a program cannot be executed while a child that was forked in
    /// the meantime has it open for writing.
    func add(_ name: String, _ script: String) throws {
      let said = try run(
        ["/bin/sh", "-c", "cat >\"$0\" && chmod 755 \"$0\"", "bin/\(name)"], [],
        input: Array("#!/bin/sh\n\(script)\n".utf8))
      if said != "" { throw TestFailure(said) }
    }

    var environment: [String] { ["PATH=\(folder.file("bin")):/usr/bin:/bin", "HOME=\(folder.path)"] }

    /// Runs a program, and returns what it writes to standard output and standard error.
    func run(_ arguments: [String], _ variables: [String], input: [UInt8]) throws -> String {
      try finish(start(arguments, variables, input: input))
    }

    func start(_ arguments: [String], _ variables: [String], input: [UInt8]) throws -> (process: pid_t, output: CInt) {
      let output = try FileDescriptor.result(of: "memfd_create", unsafe memfd_create("output", UInt32(MFD_CLOEXEC)))
      let line = try FileDescriptor.result(of: "memfd_create", unsafe memfd_create("line", UInt32(MFD_CLOEXEC)))
      unsafe try FileDescriptor.writeAll(input.span.bytes, to: line.rawValue)
      lseek(line.rawValue, 0, SEEK_SET)
      // The program runs in the folder, so that files that a name makes it write are found there. A shell command
      // changes the folder itself, without another shell around it, because most of this test's time is spent on
      // starting shells.
      let isCommand = arguments.starts(with: ["/bin/sh", "-c"])
      let script = "cd '\(folder.path)'\n" + (isCommand ? arguments[2] : "exec \"$@\"")
      let process = try NetwatchEventLoop.ChildProcess.spawn(
        "/bin/sh", ["-c", script] + (isCommand ? Array(arguments.dropFirst(3)) : ["sh"] + arguments),
        environment: environment + variables,
        descriptors: [
          (line.rawValue, STDIN_FILENO), (output.rawValue, STDOUT_FILENO), (output.rawValue, STDERR_FILENO),
        ])
      return (process, fcntl(output.rawValue, F_DUPFD_CLOEXEC, 3))
    }

    func finish(_ run: (process: pid_t, output: CInt)) throws -> String {
      let output = FileDescriptor(owning: run.output)
      guard NetwatchEventLoop.ChildProcess.waitForEnd(of: run.process) != nil else { throw TestFailure("no child") }
      let size = lseek(output.rawValue, 0, SEEK_END)
      lseek(output.rawValue, 0, SEEK_SET)
      var bytes = [UInt8](repeating: 0, count: max(0, size))
      let count = unsafe read(output.rawValue, &bytes, bytes.count)
      return String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    }
  }

  private static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..").path

  /// Returns the commands of `--exec` in the README, in the manual page and in the units of the examples, as a shell or
  /// systemd reads them.
  private static func shownCommands() throws -> [String] {
    let examples = top + "/contrib/examples"
    let units = try FileManager.default.subpathsOfDirectory(atPath: examples).filter { $0.hasSuffix(".service") }
    let pages = ["\(top)/README.md", "\(top)/contrib/man/netwatch-serve.8"] + units.map { "\(examples)/\($0)" }
    return try pages.flatMap { page in
      try String(contentsOfFile: page, encoding: .utf8).split(separator: "\n").compactMap { line -> String? in
        // These are the quotes and hyphens of mandoc.
        let plain = [("\\(aq", "'"), ("\\(dq", "\""), ("\\-", "-")].reduce(String(line)) {
          $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
        guard let start = plain.range(of: "--exec '"), let end = plain.lastIndex(of: "'"), start.upperBound <= end
        else {
          return nil
        }
        return String(plain[start.upperBound..<end])
      }
    }
  }

  @Test(arguments: [2_211, 2_212, 2_213, 2_214] as [UInt64])
  func `no recipe obeys the name of a network`(_ seed: UInt64) throws {
    let world = try World()
    let recipes = Self.top + "/contrib/examples/recipes"
    let files = ["dynamic-dns", "start-target", "tell-network"].map { "\(recipes)/\($0)" }
    let shown = try Self.shownCommands()
    #expect(shown.count >= 3)
    let hooks = files.map { [$0] } + shown.map { ["/bin/sh", "-c", $0] }
    // This hook prints what it receives.
    let echo = ["/bin/sh", "-c", "printf '%s\\n' \"$NETWATCH_SSID\" \"$NETWATCH_OLD_SSID\"; cat"]
    var random = SplitMix(seed: seed)
    let offline = HookVariables(.example(.notReachable))
    var old = HookVariables()
    var oldShown = ""
    var writer = JSONLineWriter()
    var lines: [UInt8] = []
    for _ in 0..<FuzzRounds.count(default: 250) {
      var record = EventRecord.example(.wifi)
      let ssid = try #require(SSID(Self.name(&random)))
      record = record.named(ssid)
      writer.write(record)
      lines += writer.line
      let variables = HookVariables(record)
      let entries = variables.entries(after: old)
      // The entries are compared as bytes, because the name may begin with a mark that combines with the character
      // before it.
      let prefix = Array("NETWATCH_SSID=".utf8)
      let shown = try #require(
        entries.first { $0.utf8.starts(with: prefix) }.flatMap { String($0.utf8.dropFirst(prefix.count)) })
      let line = writer.line
      // All hooks run at the same time, on all processors.
      let first = try world.start(echo, entries, input: line)
      let changed = variables.entries(after: offline)
      let runs = try hooks.map { try world.start($0, changed, input: line) }
      #expect(
        try world.finish(first) == "\(shown)\n\(oldShown)\n\(String(decoding: line, as: UTF8.self))", "\(ssid.hex)")
      for (hook, run) in zip(hooks, runs) {
        let output = try world.finish(run)
        guard hook == [files[2]] else { continue }
        #expect(output == "<-->\n<online>\n<\(shown == "" ? "wlan0" : shown)>\n", "\(ssid.hex)")
      }
      (old, oldShown) = (variables, shown)
    }
    #expect(try world.folder.names == world.names)
    try passOn(lines, in: world)
  }

  /// Checks that the recipes that read the stream pass on each line as it was.
  private func passOn(_ lines: [UInt8], in world: World) throws {
    try world.folder.write(Data(lines), to: "bin/lines")
    try world.add("netwatch", "cat \"${0%/*}/lines\"")
    let keep = "cat >\"$HOME/passed\""
    try world.add("systemd-cat", "while [ \"$1\" != netwatch ]; do shift; done; \"$@\" | \(keep)")
    let said = try world.run([Self.top + "/contrib/examples/journald/netwatch-journal"], [], input: [])
    #expect(said == "" && Array(world.folder.text(of: "passed").utf8) == lines)
    try world.folder.remove("passed")
    #expect(try world.folder.names == world.names)
  }
}

extension EventRecord {
  /// Returns the same record in a network with another name.
  fileprivate func named(_ ssid: SSID) -> EventRecord {
    var verdict = path.verdict
    verdict.ssid = ssid
    var record = self
    record.path = NetworkPath(verdict: verdict, reason: path.reason, interfaces: InterfaceTable())
    return record
  }
}
