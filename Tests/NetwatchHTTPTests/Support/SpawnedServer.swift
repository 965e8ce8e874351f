import CLinux
import Foundation
import Glibc
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

/// A server in a child process. The program has to end at the end of its standard input, which is a pipe from this
/// process.
final class SpawnedServer: Sendable {
  private let pid: pid_t
  private let lifeline: CInt

  /// Starts a program, and waits until it listens.
  ///
  /// - Parameters:
  ///   - program: The name of the program. If it is not installed, the test fails at once with this name.
  ///   - command: The path of an executable, and its arguments.
  ///   - ports: The ports of 127.0.0.1 on which the program listens when it is ready.
  ///   - isUp: Whether everything except the ports is ready. It throws if the program has reported that it cannot
  ///     start, so that the test does not wait any longer.
  init(_ program: String, _ command: [String], ports: [UInt16], isUp: () throws -> Bool = { true }) throws {
    try requireProgram(program)
    var ends: [CInt] = [-1, -1]
    // Without O_CLOEXEC, the servers would inherit the pipes of each other, and keep each other running.
    guard unsafe pipe2(&ends, CInt(O_CLOEXEC)) == 0 else { throw TestFailure("pipe2: \(errno)") }
    defer { close(ends[0]) }
    lifeline = ends[1]
    // Without `closesOthers`, sockets and files of other tests would stay open as long as this program runs.
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

  /// Starts a program that does not read its standard input. A shell reads it, and kills the program at the end.
  ///
  /// - Parameters:
  ///   - program: The name of the program. If it is not installed, the test fails at once with this name.
  ///   - command: A shell command that starts the program.
  ///   - arguments: The arguments of the shell, which `command` uses as `$1` and so on.
  ///   - cleaning: A shell command that runs after the program has ended. Default: none.
  ///   - ports: The ports of 127.0.0.1 on which the program listens when it is ready.
  ///   - isUp: Whether everything except the ports is ready.
  convenience init(
    _ program: String, shell command: String, _ arguments: [String], cleaning: String = ":", ports: [UInt16],
    isUp: () throws -> Bool = { true }
  ) throws {
    try self.init(
      program,
      ["/bin/sh", "-c", "PATH=$PATH:/usr/sbin; \(command) & read -r end; kill -9 $!; wait; \(cleaning)", "sh"]
        + arguments, ports: ports, isUp: isUp)
  }

  /// Lets the program run on one processor, ahead of everything else there (sched(7), SCHED_FIFO). A thread on this
  /// processor that sends to the program continues when the program has nothing more to do.
  func goesFirst(on processor: String) throws {
    try Programs.run(["taskset", "-cp", processor, "\(pid)"])
    try Programs.run(["chrt", "-f", "-p", "1", "\(pid)"])
  }

  deinit {
    close(lifeline)
    _ = ChildProcess.waitForEnd(of: pid)
  }
}
