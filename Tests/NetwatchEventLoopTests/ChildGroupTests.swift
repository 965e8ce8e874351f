import Glibc
import NetwatchTestSupport
import Testing

@testable import NetwatchEventLoop

/// How groups of real processes end. A process that is left holds its output open, so the end of the output proves that
/// none is left.
@Suite struct ChildGroupTests {
  /// A time that is longer than any run of the tests, so a test that waits for it fails.
  private static let forever = Duration.seconds(10_000)

  /// Runs a shell until its group has ended, and returns the ending.
  ///
  /// - Parameters:
  ///   - grace: The time between SIGTERM and SIGKILL, by the kernel's clock; nil if the group is not ended. It begins
  ///     when the shell says "ready".
  ///   - output: The pipe that the shell and its children write to.
  private func run(_ script: String, grace: Duration?, output: NetwatchEventLoop.Pipe) throws -> ProcessEnding? {
    let loop = try EventLoop()
    var ending: ProcessEnding?
    let process = try start(script, output)
    let group = try ChildGroup(process, on: loop) {
      ending = $0
      loop.stop()
    }
    if let grace {
      #expect(output.text(upTo: 6) == "ready\n")
      group.end(within: grace)
      // A second call has no effect.
      group.end(within: .zero)
    }
    try loop.runPatiently()
    withExtendedLifetime(group) {}
    return ending
  }

  private func start(_ script: String, _ output: NetwatchEventLoop.Pipe) throws -> pid_t {
    let process = try ChildProcess.spawn(
      "/bin/sh", ["-c", script], descriptors: [(output.write, STDOUT_FILENO)], closesOthers: true)
    output.closeWrite()
    return process
  }

  /// Returns whether a process has ended and no parent has waited for it.
  private static func hasEnded(_ process: pid_t) -> Bool {
    let text = FileDescriptor.text(of: "/proc/\(process)/stat") ?? ""
    return text[(text.lastIndex(of: ")") ?? text.endIndex)...].hasPrefix(") Z")
  }

  @Test(arguments: [
    ("echo ready; exec sleep 1000", ProcessEnding.killed(signal: SIGTERM)),
    ("sleep 1000 & (sleep 1000; :) & echo ready; wait", .killed(signal: SIGTERM)),
    // A child that is forked while its parent has a trap loses a SIGTERM that comes before the child executes its
    // program.
    ("trap 'exit 3' TERM; sh -c 'echo ready; exec sleep 1000' & wait", .exited(3)),
    ("echo ready; kill -STOP $$; sleep 1000", .killed(signal: SIGTERM)),
    // The child ends a little later than its parent.
    (
      #"sh -c 'trap "sleep 0.05; exit" TERM; sh -c "echo ready; exec sleep 1000" & wait' & wait"#,
      .killed(signal: SIGTERM)
    ),
  ])
  func `a group that obeys SIGTERM ends at once`(_ script: String, _ expected: ProcessEnding) throws {
    let output = try NetwatchEventLoop.Pipe()
    #expect(try run(script, grace: Self.forever, output: output) == expected)
    #expect(output.text(upTo: 1) == "")
  }

  @Test(arguments: [
    ("trap '' TERM; sleep 1000 & echo ready; wait; wait; sleep 1000", ProcessEnding.killed(signal: SIGKILL)),
    ("(trap '' TERM; echo ready; exec sleep 1000) & wait", .killed(signal: SIGTERM)),
    ("trap 'exit 3' TERM; (trap '' TERM; echo ready; exec sleep 1000) & wait", .exited(3)),
    ("trap 'exit 0' TERM; sh -c 'trap \"\" TERM; sleep 1000 & echo ready; wait' & wait", .exited(0)),
  ])
  func `whoever ignores SIGTERM gets SIGKILL, also when the leader has ended`(
    _ script: String, _ expected: ProcessEnding
  ) throws {
    let clock = ManualClock()
    let loop = try EventLoop(by: clock)
    let output = try NetwatchEventLoop.Pipe()
    let process = try start(script, output)
    var ending: ProcessEnding?
    let group = try ChildGroup(process, on: loop) { ending = $0 }
    #expect(output.text(upTo: 6) == "ready\n")
    group.end(within: .seconds(100))
    // A leader that obeys SIGTERM has all the time that it needs.
    if expected != .killed(signal: SIGKILL) { try eventually(Self.hasEnded(process)) { $0 } }
    clock.advance(by: .milliseconds(99_999))
    try loop.poll()
    #expect(ending == nil)
    clock.advance(by: .milliseconds(1))
    func look() throws -> ProcessEnding? {
      try loop.poll()
      // The group looks again at processes that it has killed after a while.
      clock.advance(by: .milliseconds(10))
      return ending
    }
    try eventually(look()) { $0 != nil }
    #expect(ending == expected)
    #expect(output.text(upTo: 1) == "")
    withExtendedLifetime(group) {}
  }

  @Test func `what a leader leaves behind runs on if the group is not ended`() throws {
    let output = try NetwatchEventLoop.Pipe()
    let script = "(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo still here) & exit 7"
    #expect(try run(script, grace: nil, output: output) == .exited(7))
    #expect(output.text(upTo: 100) == "still here\n")
  }

  @Test func `a group that is released is left alone`() throws {
    let loop = try EventLoop()
    let output = try NetwatchEventLoop.Pipe()
    let process = try ChildProcess.spawn(
      "/bin/sh", ["-c", "exec sleep 1000"], descriptors: [(output.write, STDOUT_FILENO)], closesOthers: true)
    var group: ChildGroup? = try ChildGroup(process, on: loop) { _ in Issue.record("it has ended") }
    #expect(group != nil)
    group = nil
    #expect(ChildProcess.ending(of: process) == nil)
    kill(process, SIGKILL)
    #expect(ChildProcess.waitForEnd(of: process) == .killed(signal: SIGKILL))
  }
}
