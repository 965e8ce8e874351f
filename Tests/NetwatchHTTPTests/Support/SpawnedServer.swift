import Foundation
import Glibc
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

/// A program that ends when a line is written to it, or when nobody can write one any more.
final class SpawnedServer: Sendable {
  private let pid: pid_t
  private let lifeline: CInt

  /// Begins a program, and waits until it listens.
  ///
  /// - Parameters:
  ///   - program: Its name. If it is not installed, the failure says so at once.
  ///   - command: What begins it: a path and arguments.
  ///   - ports: The ports of 127.0.0.1 on which it listens when it is up.
  ///   - isUp: What else says that it is up. It throws what the program has said about its end, so that nobody waits for it.
  init(_ program: String, _ command: [String], ports: [UInt16], isUp: () throws -> Bool = { true }) throws {
    try requireProgram(program)
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    defer { close(ends[0]) }
    lifeline = ends[1]
    // Or the servers would keep each other alive.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // What other tests have open would stay open as long as this.
    pid = try ChildProcess.spawn(
      command[0], Array(command.dropFirst()), descriptors: [(ends[0], STDIN_FILENO)], closesOthers: true)
    for port in ports {
      try eventually("\(program) on port \(port)", within: 60) { _ in
        guard try isUp(), let descriptor = LoopbackSocket.connect(to: port) else { return false }
        close(descriptor)
        return true
      }
    }
  }

  /// Begins a program that knows nothing of the line.
  ///
  /// - Parameters:
  ///   - command: Of the shell; its arguments are `$1` and so on.
  ///   - cleaning: What the shell does once the program is gone.
  convenience init(
    _ program: String, shell command: String, _ arguments: [String], cleaning: String = ":", ports: [UInt16],
    isUp: () throws -> Bool = { true }
  ) throws {
    try self.init(
      program,
      ["/bin/sh", "-c", "PATH=$PATH:/usr/sbin; \(command) & read -r end; kill -9 $!; wait; \(cleaning)", "sh"]
        + arguments, ports: ports, isUp: isUp)
  }

  /// Lets the program run on one processor, before everything else there (sched(7), SCHED_FIFO): whoever sends to it from there
  /// goes on when the program has nothing more to do.
  func goesFirst(on processor: String) throws {
    try Programs.run(["taskset", "-cp", processor, "\(pid)"])
    try Programs.run(["chrt", "-f", "-p", "1", "\(pid)"])
  }

  deinit {
    _ = unsafe write(lifeline, "end\n", 4)
    close(lifeline)
    _ = ChildProcess.waitForEnd(of: pid)
  }
}
