import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// `netwatch run`: runs a command and counts it as one request.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run a command and count it as one request while it runs.",
    discussion: """
      Bars that use the service show the activity while the command runs. Without a service, the command runs all the same. \
      netwatch passes signals to the command and exits with its exit status; 126 and 127 mean the same as in a shell.
      """)

  /// The signals that netwatch passes to the command.
  private static let handedOn =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGCONT] + SignalSource.userDefined

  @ParentCommand var root: NetwatchTool

  @Option(
    help: ArgumentHelp(
      "Name the request, for netwatch -v. Only you can see the name, and root if the service runs for the "
        + "whole machine. Default: the name of the command.", valueName: "text"))
  var label: String?

  @Argument(
    parsing: .postTerminator, help: ArgumentHelp("The command and its arguments, after --.", valueName: "command"))
  var command: [String]

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self)
    if command.isEmpty {
      throw ValidationError("Give a command after --, such as: netwatch run -- rsync -a here there:")
    }
    if let label, label.utf8.count > 256 { throw ValidationError("--label takes at most 256 bytes.") }
  }

  func run() throws {
    throw ExitCode(try PlainError.reporting { try runWithLease() }.imitate())
  }

  /// Runs the command and counts it as a request. The command shares netwatch's terminal, standard input and process group.
  private func runWithLease() throws -> ProcessEnding {
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
    link.requests = [1: label ?? command[0]]
    switch spawn(mask) {
    case .success(let child): process = child
    case .failure(let error):
      StandardError.tell("cannot run \(command[0].harmless): \(error.message)")
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
    let arguments = unsafe CommandLine.unsafeArgv + (Int(CommandLine.argc) - command.count)
    guard let program = unsafe arguments[0] else {
      return .failure(SystemError(operation: "posix_spawn", code: ENOENT))
    }
    let code = unsafe posix_spawnp(&process, program, nil, &attributes, arguments, environ)
    return code == 0 ? .success(process) : .failure(SystemError(operation: "posix_spawn", code: code))
  }
}
