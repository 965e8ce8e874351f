import Foundation
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchResolver

/// Lookups by the system. The program getent is a script of the test.
@Suite(.timeLimit(.minutes(3))) struct SystemLookupTests {
  /// A folder with a getent in it, a name server, and a loop for both.
  private final class Run {
    let folder: TemporaryFolder
    /// The clock of the loop. It stands still, so getent has all the time that it needs.
    let clock = ManualClock()
    let loop: EventLoop
    let server: FakeNameServer
    var configuration: ResolverConfiguration

    init(getent script: String, answer: Answer.Code = .noSuchName) throws {
      folder = try TemporaryFolder()
      try Self.write("#!/bin/sh\ncd \(folder.path)\n\(script)", to: folder.file("getent"))
      loop = try EventLoop(by: clock)
      server = try FakeNameServer(on: loop) { question, _ in [Answer.bytes(question, [], answer)] }
      configuration = server.configuration
      configuration.getent = folder.file("getent")
    }

    /// Writes a program in another process. A file cannot be executed while a child of another test still has it open
    /// for writing.
    private static func write(_ program: String, to file: String) throws {
      let script = "printf '%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\""
      let writer = try ChildProcess.spawn("/bin/sh", ["-c", script, "sh", program, file], descriptors: [])
      #expect(ChildProcess.waitForEnd(of: writer) == .exited(0))
    }

    func lookUp(_ name: String) throws -> Resolution.Outcome {
      var outcome: Resolution.Outcome?
      let lookup = HostLookup(of: try HostName(name), on: loop, configuration) { [unowned loop] in
        outcome = $0
        loop.stop()
      }
      #expect(outcome == nil, "told from within init")
      try loop.runPatiently()
      withExtendedLifetime(lookup) {}
      return try #require(outcome)
    }

    func kind(_ name: String) throws -> ResolverError.Kind? {
      if case .failure(let error) = try lookUp(name) { error.kind } else { nil }
    }

    /// Waits until the script has written a whole line to the file, and returns the text.
    func text(of file: String, at place: SourceLocation = #_sourceLocation) throws -> String {
      try eventually(folder.text(of: file), at: place) { $0.hasSuffix("\n") }
    }
  }

  private static let sevenAndEight = """
    echo '192.0.2.7       STREAM host.example'
    echo '192.0.2.7       DGRAM  '
    echo '2001:db8::8     STREAM '
    """

  // MARK: Who is asked

  @Test(arguments: ["printer", "printer.", "printer.local", "Printer.LOCAL", "a.b.local."])
  func `names of this network go to the system and never to a name server`(_ name: String) throws {
    let run = try Run(getent: "echo \"$@\" >> asked\n" + Self.sevenAndEight)
    let resolution = try run.lookUp(name).get()
    #expect(resolution == Resolution(addresses: [.ip("192.0.2.7"), .ip("2001:db8::8")]))
    #expect(try run.text(of: "asked") == "ahosts \(name.lowercased())\n")
    #expect(run.server.questions.isEmpty)
  }

  @Test(arguments: ["exit 2", "exit 0"])
  func `what the system does not know of this network is not there`(_ script: String) throws {
    let run = try Run(getent: script)
    #expect(try run.kind("printer.local") == .noSuchName)
    #expect(run.server.questions.isEmpty)
  }

  @Test(arguments: ["host.example", "localhost.example", "local.example"])
  func `other names go to the name servers, and after their no to the system`(_ name: String) throws {
    let run = try Run(getent: Self.sevenAndEight)
    #expect(try run.lookUp(name).get().addresses == [.ip("192.0.2.7"), .ip("2001:db8::8")])
    #expect(run.server.questions.contains { $0.name == name })
  }

  @Test(arguments: ["exit 2", "exit 1", "kill -9 $$", "echo nonsense"])
  func `the no of the name servers stands where the system says no more`(_ script: String) throws {
    let run = try Run(getent: script)
    guard case .failure(let error) = try run.lookUp("host.example") else {
      Issue.record("an address")
      return
    }
    #expect(error.kind == .noSuchName && error.operation == "ares_getaddrinfo")
  }

  @Test func `without a no of the name servers the system is not asked`() throws {
    let run = try Run(getent: "echo asked > asked\n" + Self.sevenAndEight, answer: .failed)
    #expect(try run.kind("host.example") == .noServer)
    #expect(!FileManager.default.fileExists(atPath: run.folder.file("asked")))
  }

  @Test func `without getent the hosts file tells of this network`() throws {
    let run = try Run(getent: "")
    run.configuration.getent = "/nowhere/getent"
    #expect(try run.kind("no-such-printer") == .noSuchName)
    #expect(try run.kind("host.example") == .noSuchName)
    #expect(run.server.questions.allSatisfy { $0.name == "host.example" })
  }

  // MARK: What getent says

  @Test func `addresses are told once each, 16 at most, and none that leads no further than its link`() {
    func answer(_ text: String) -> SystemLookup.Answer { SystemLookup.answer(Array(text.utf8)) }
    let many = (0..<40).map { "192.0.2.\($0 / 2)  STREAM\n" }.joined()
    #expect(
      answer(many + "status 0\n") == .addresses((0..<16).map { InternetAddress.v4(0xc000_0200 + $0) }))
    #expect(answer("fe80::1%eth0 STREAM\n::1 STREAM\nstatus 0\n") == .addresses([.ip("::1")]))
    #expect(answer("fe80::1%eth0 STREAM\nstatus 0\n") == .none)
    // The output is cut off in the middle of an address.
    #expect(answer("192.0.2.7 STREAM\n192.0.2.77") == .addresses([.ip("192.0.2.7")]))
    #expect(answer("192.0.2.7") == .silence)
    #expect(answer("") == .silence)
    #expect(answer("status 127\n") == .unavailable)
    #expect(answer("status 2") == .silence)
  }

  @Test func `an endless answer is cut`() throws {
    let run = try Run(getent: "while :; do echo '192.0.2.7  STREAM'; done")
    #expect(try run.lookUp("printer").get().addresses == [.ip("192.0.2.7")])
  }

  @Test func `a getent that does not answer in time is ended`() throws {
    let run = try Run(getent: "echo $$ > process; sleep 600")
    run.configuration.systemTimeout = .seconds(300)
    var outcome: Resolution.Outcome?
    let lookup = HostLookup(of: try HostName("printer"), on: run.loop, run.configuration) { outcome = $0 }
    let process = try run.text(of: "process")
    run.clock.advance(by: .milliseconds(299_999))
    try run.loop.poll()
    #expect(outcome == nil)
    run.clock.advance(by: .milliseconds(1))
    try run.loop.poll()
    guard case .failure(let error) = outcome else {
      Issue.record("\(outcome as Any)")
      return
    }
    #expect(error.kind == .timedOut)
    try Self.expectGone(process)
    withExtendedLifetime(lookup) {}
  }

  // MARK: The process

  @Test func `getent ends when its lookup is cancelled`() throws {
    let run = try Run(getent: "echo $$ > process; exec sleep 600")
    let lookup = HostLookup(of: try HostName("printer"), on: run.loop, run.configuration) { _ in Issue.record("told") }
    let process = try run.text(of: "process")
    lookup.cancel()
    try Self.expectGone(process)
  }

  @Test func `it has the standard streams, and no other descriptor`() throws {
    // A descriptor that is not closed on exec, as libraries may open them.
    let open = fcntl(STDERR_FILENO, F_DUPFD, 700)
    defer { close(open) }
    let run = try Run(getent: "ls /proc/$$/fd > list; exit 2")
    _ = try run.lookUp("printer")
    // Shells keep their scripts open, with descriptors from 10 on.
    let descriptors = try run.text(of: "list").split(separator: "\n").compactMap { CInt($0) }
    #expect(open >= 700 && descriptors.allSatisfy { $0 < 20 }, "\(descriptors)")
  }

  private static func expectGone(_ process: String) throws {
    let number = try #require(pid_t(process.dropLast()))
    try eventually(kill(number, 0) == 0 ? 0 : errno) { $0 == ESRCH }
  }
}
