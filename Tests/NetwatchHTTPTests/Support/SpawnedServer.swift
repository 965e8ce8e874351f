import Foundation
import Glibc
import NetwatchTestSupport

/// A program that ends when a line is written to it, or when nobody can write one any more.
final class SpawnedServer {
  private var pid: pid_t = 0
  private let lifeline: CInt

  init(_ arguments: [String]) throws {
    var ends: [CInt] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else { throw TestFailure("pipe: \(errno)") }
    defer { close(ends[0]) }
    lifeline = ends[1]
    // Or the servers would keep each other alive.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
    // What other tests have open would stay open as long as this.
    for number in 3..<CInt(1_024) { unsafe posix_spawn_file_actions_addclose(&actions, number) }
    // Threads of Dispatch block signals; a child would inherit that, and wait for its own in vain.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var words = unsafe arguments.map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    let code = unsafe posix_spawn(&pid, arguments[0], &actions, &attributes, &words, environ)
    guard code == 0 else { throw TestFailure("can not start \(arguments[0]): \(code)") }
  }

  deinit {
    _ = unsafe write(lifeline, "end\n", 4)
    close(lifeline)
    waitpid(pid, nil, 0)
  }
}
