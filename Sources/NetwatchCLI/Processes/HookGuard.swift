import Glibc
import NetwatchEventLoop

/// Ends the running hook, with all that it has started, when netwatch ends, for whatever reason, also by SIGKILL.
///
/// It is a shell that reads the number of each process group from a pipe, and an empty line when the group has ended by itself.
/// At the end of the pipe, it ends the last group.
final class HookGuard {
  private static let script = """
    trap '' TERM INT HUP QUIT
    while read -r next; do group=$next; done
    [ "$group" ] || exit
    kill -TERM "-$group"; kill -CONT "-$group"; sleep \(HookRunner.grace.components.seconds); kill -KILL "-$group"
    """
  private static let environment = ["PATH=/usr/bin:/bin:/run/current-system/sw/bin"]

  private let pipe: Pipe

  /// Starts the shell.
  init() throws(SystemError) {
    pipe = try Pipe()
    guard fcntl(pipe.write, F_SETFL, O_NONBLOCK) == 0 else { throw .last("fcntl") }
    // If somebody ends the shell, writing fails with EPIPE.
    SignalSource.discard([SIGPIPE])
    // The shell has nothing to say, and must not keep the output of netwatch open. It cannot write to this end of the pipe.
    _ = try ChildProcess.spawn(
      "/bin/sh", ["-c", Self.script, "netwatch-hook-guard"], environment: Self.environment,
      descriptors: [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].map { (pipe.read, $0) }, closesOthers: true)
    pipe.closeRead()
  }

  /// Starts a process by `spawn`, which leads a group. The group ends with netwatch until ``release()`` is called.
  func start(_ spawn: () throws(SystemError) -> pid_t) throws(SystemError) -> pid_t {
    // A signal that ends netwatch has to wait until the shell knows the group. Only SIGKILL does not wait.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    let group = try spawn()
    tell("\(group)")
    return group
  }

  /// Leaves the group alone from now on.
  func release() { tell("") }

  private func tell(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = unsafe write(pipe.write, bytes, bytes.count)
  }
}
