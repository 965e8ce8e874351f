import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchStream

/// `netwatch run`: runs a command and counts it as one request.
struct RunCommand {
  /// The signals that netwatch passes to the command.
  private static let handedOn =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGCONT] + SignalSource.userDefined

  let options: ParsedOptions

  /// Runs the command and counts it as a request. The command shares netwatch's terminal, standard input and process group.
  func run() throws -> ProcessEnding {
    let command = options.command
    let loop = try EventLoop()
    let mask = ChildProcess.signalMask
    var process: pid_t?
    var ending: ProcessEnding?
    let signals = try SignalSource(Self.handedOn + [SIGCHLD], on: loop) { [unowned loop] delivery in
      guard let process, ending == nil else { return }
      if delivery.number == SIGCHLD {
        ending = ChildProcess.ending(of: process)
        if ending != nil { loop.stop() }
      } else if !delivery.isFromKernel || delivery.number == SIGHUP && getsid(0) == getpid() {
        // The terminal sends its signals to the command as well. But it reports its end only to the leader of the session.
        kill(process, delivery.number)
      }
    }
    let link = ServiceLink(on: loop)
    link.start()
    if !link.isConnected, !link.isBusy {
      StandardError.warnTerminal("no service runs, so nothing shows this request; start netwatch serve")
    }
    link.requests = RunningRequests([options.label ?? command[0]])
    switch spawn(mask) {
    case .success(let child): process = child
    case .failure(let error):
      StandardError.warn("cannot run \(command[0].sanitizedForTerminal): \(error.message)")
      return .exited(error.code == ENOENT ? 127 : 126)
    }
    try loop.run()
    withExtendedLifetime((signals, link)) {}
    return ending ?? .exited(0)
  }

  private func spawn(_ mask: sigset_t) -> Result<pid_t, SystemError> {
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    ChildProcess.prepare(&attributes, mask: mask)
    var process = pid_t()
    // The bytes of the arguments are passed unchanged, because the name of a file does not have to be text.
    let arguments = unsafe CommandLine.unsafeArgv + (Int(CommandLine.argc) - options.command.count)
    guard let program = unsafe arguments[0] else {
      return .failure(SystemError(operation: "posix_spawn", code: ENOENT))
    }
    let code = unsafe posix_spawnp(&process, program, nil, &attributes, arguments, environ)
    return code == 0 ? .success(process) : .failure(SystemError(operation: "posix_spawn", code: code))
  }
}
