import Foundation
import Glibc
import NetwatchEventLoop
import NetwatchTestSupport

/// A program that ends when a line is written to it, or when nobody can write one any more.
final class SpawnedServer {
  private let pid: pid_t
  private let lifeline: CInt

  init(_ arguments: [String]) throws {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    defer { close(ends[0]) }
    lifeline = ends[1]
    // Or the servers would keep each other alive.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // What other tests have open would stay open as long as this.
    pid = try ChildProcess.spawn(
      arguments[0], Array(arguments.dropFirst()), descriptors: [(ends[0], STDIN_FILENO)], closesOthers: true)
  }

  deinit {
    _ = unsafe write(lifeline, "end\n", 4)
    close(lifeline)
    _ = ChildProcess.waitForEnd(of: pid)
  }
}
