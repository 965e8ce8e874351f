import Glibc
import NetwatchEventLoop
import NetwatchStream

/// A command that runs with a lease around it. It has our terminal, our standard input and our process group.
final class LeasedCommand {
  /// What somebody may send to us and mean the command.
  private static let handedOn = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT]

  private let command: [String]
  private let label: String

  init(_ command: [String], label: String) {
    self.command = command
    self.label = label
  }

  func run() throws -> ChildProcess.Ending {
    let loop = try EventLoop()
    let mask = ChildProcess.signalMask
    // Whoever started us may ignore it, and then nobody would learn how the command ended.
    signal(SIGCHLD, SIG_DFL)
    var process: pid_t?
    var ending: ChildProcess.Ending?
    let signals = try SignalSource(Self.handedOn + [SIGCHLD], on: loop) { [unowned loop] delivery in
      guard let process, ending == nil else { return }
      if delivery.number == SIGCHLD {
        ending = ChildProcess.ending(of: process)
        if ending != nil { loop.stop() }
      } else if !delivery.isFromKernel || delivery.number == SIGHUP && getsid(0) == getpid() {
        // What the terminal sends, it sends to the command too; but its end it tells the leader of the session alone.
        kill(process, delivery.number)
      }
    }
    let lease = ActivityLease(label, on: loop)
    lease.count = 1
    switch spawn(mask) {
    case .success(let child): process = child
    case .failure(let error):
      CommandFailure.report("can not run \(command[0]): \(error.message)")
      return .exited(error.code == ENOENT ? 127 : 126)
    }
    try loop.run()
    withExtendedLifetime((signals, lease)) {}
    return ending ?? .exited(0)
  }

  private func spawn(_ mask: sigset_t) -> Result<pid_t, SystemError> {
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    ChildProcess.prepare(&attributes, mask: mask)
    var process = pid_t()
    // As they came, to the byte: a file's name need not be text.
    let arguments = unsafe CommandLine.unsafeArgv + (Int(CommandLine.argc) - command.count)
    guard let program = unsafe arguments[0] else {
      return .failure(SystemError(operation: "posix_spawn", code: ENOENT))
    }
    let code = unsafe posix_spawnp(&process, program, nil, &attributes, arguments, environ)
    return code == 0 ? .success(process) : .failure(SystemError(operation: "posix_spawn", code: code))
  }
}
