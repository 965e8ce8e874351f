import Glibc
import Netwatch
import Testing

@testable import NetwatchEventLoop

@Suite struct OwnChildTests {
  /// Runs the loop until `isOver`, for at most 30 seconds.
  private static func run(_ loop: EventLoop, until isOver: @escaping () -> Bool) throws {
    loop.onTurnEnd = { [unowned loop] in if isOver() { loop.stop() } }
    loop.schedule(after: .seconds(30)) { [unowned loop] in loop.stop() }
    try loop.run()
  }

  @Test func `the end of a child is told once, with its status`() throws {
    let loop = try EventLoop()
    let child = OwnChild(try ChildProcess.spawn("/bin/sh", ["-c", "exit 3"], descriptors: []))
    var endings: [ProcessEnding] = []
    try child.whenEnded(on: loop) { endings.append($0) }
    try Self.run(loop) { !endings.isEmpty }
    try loop.poll()
    #expect(endings == [.exited(3)])
    withExtendedLifetime(child) {}
  }

  @Test func `a child for which other code has waited has ended all the same`() throws {
    let loop = try EventLoop()
    let process = try ChildProcess.spawn("/bin/sh", ["-c", "exit 3"], descriptors: [])
    let child = OwnChild(process)
    var endings: [ProcessEnding] = []
    try child.whenEnded(on: loop) { endings.append($0) }
    #expect(ChildProcess.waitForEnd(of: process) == .exited(3))
    try Self.run(loop) { !endings.isEmpty }
    try loop.poll()
    #expect(endings == [.exited(0)])
    withExtendedLifetime(child) {}
  }

  @Test func `a child that is released is ended, and its end is not told`() throws {
    let loop = try EventLoop()
    let process = try ChildProcess.spawn("/bin/sleep", ["1000"], descriptors: [])
    var child: OwnChild? = OwnChild(process)
    var isTold = false
    try child?.whenEnded(on: loop) { _ in isTold = true }
    child = nil
    let isGone = kill(process, 0) == -1 && errno == ESRCH
    #expect(isGone)
    try loop.poll()
    #expect(!isTold)
    withExtendedLifetime(child) {}
  }
}
