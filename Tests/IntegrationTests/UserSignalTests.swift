import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// SIGUSR1, SIGUSR2 and the real-time signals, which bars send to their modules. These signals do not end netwatch, and
/// do not change the signal actions of its children.
@Suite struct UserSignalTests {
  private static let realTime = CInt(__libc_current_sigrtmin())...CInt(__libc_current_sigrtmax())
  private static let signals = [SIGUSR1, SIGUSR2] + Array(realTime)

  private func sendAll(to process: ChildProcess) { for number in Self.signals { process.signal(number) } }

  @Test(arguments: [["--json"], ["--format", "waybar"], ["--json", "--no-service"], ["--format", "text"]])
  func `a follower goes on`(options: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let follower = try ChildProcess(namespace.command([Programs.netwatch, "--follow"] + options))
    _ = try follower.nextLine()
    sendAll(to: follower)
    try namespace.run("ip link set v1 down")
    #expect(try follower.nextLine() != nil)
    follower.signal(SIGTERM)
    #expect(try follower.wait() == .signalled(SIGTERM))
  }

  @Test func `the service goes on`() throws {
    let service = try RunningService()
    let client = try service.client()
    _ = try client.next()
    sendAll(to: service.process)
    try client.ping()
    sendAll(to: service.process)
    try service.namespace.run("ip link set v1 down")
    #expect(try client.next().status == "not-reachable")
    service.process.signal(SIGTERM)
    #expect(try service.process.wait() == .exited(0))
  }

  @Test func `a command that waits goes on`() throws {
    let namespace = try NetworkNamespace.online()
    let waiting = try ChildProcess(namespace.command([Programs.netwatch, "wait", "--for", "not-reachable"]))
    try waiting.waitUntilCaught(Self.signals)
    sendAll(to: waiting)
    try namespace.run("ip link set v1 down")
    #expect(try waiting.wait() == .exited(0))
  }

  @Test(arguments: [SIGUSR2, realTime.lowerBound, realTime.lowerBound + 10, realTime.upperBound])
  func `run passes them to its command, whose answer it is`(number: CInt) throws {
    let child = try ChildProcess([
      Programs.netwatch, "run", "--", "sh", "-c",
      "trap 'echo got it; exit 9' \(number); echo ready; while :; do sleep 0.05; done",
    ])
    #expect(try child.nextLine() == "ready")
    child.signal(number)
    #expect(try child.nextLine() == "got it")
    #expect(try child.wait() == .exited(9))
  }

  // MARK: Children

  /// A shell command that prints the sets of ignored, caught and blocked signals with which it was started.
  private static let sets = "grep -E '^Sig(Ign|Cgt|Blk)' /proc/self/status >&2"

  @Test(arguments: ["", "trap '' USR1 RTMIN PIPE XFSZ; "])
  func `hooks have the actions that netwatch has found`(trap: String) throws {
    let namespace = try NetworkNamespace.online()
    let plain = try ChildProcess.run(["bash", "-c", "\(trap)exec sh -c \"$0\"", Self.sets])
    let follower = try ChildProcess(
      namespace.command([
        "bash", "-c", "\(trap)exec \"$0\" --follow --no-service --exec \"$1\"", Programs.netwatch, Self.sets,
      ]))
    for line in plain.error.split(separator: "\n") { #expect(try follower.nextErrorLine() == String(line)) }
  }

  @Test(arguments: ["", "trap '' USR1 RTMIN PIPE XFSZ; "])
  func `so does the command of run`(trap: String) throws {
    let plain = try ChildProcess.run(["bash", "-c", "\(trap)exec sh -c \"$0\"", Self.sets])
    let run = try ChildProcess.run([
      "bash", "-c", "\(trap)exec \"$0\" run -- sh -c \"$1\"", Programs.netwatch, Self.sets,
    ])
    #expect(run.error == plain.error)
  }
}

extension ChildProcess {
  /// Waits until the process catches each of these signals. Until then, a signal would end the process.
  fileprivate func waitUntilCaught(_ signals: [CInt], at place: SourceLocation = #_sourceLocation) throws {
    func caught() throws -> String {
      let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
      return String(text.split(separator: "\n").first { $0.hasPrefix("SigCgt:") } ?? "")
    }
    try eventually(caught(), at: place) { line in
      guard let set = UInt64(line.suffix(16), radix: 16) else { return false }
      return signals.allSatisfy { set >> UInt64($0 - 1) & 1 == 1 }
    }
  }
}
