import ArgumentParser
import Glibc
import NetwatchStream

/// `netwatch run`: one request around a command.
struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Run a command, and count it as one request while it runs.",
    discussion: """
      The indicator of the service is lit while the command runs; without a service the command runs all the same. Signals \
      are handed on, and the exit status is the command's own; 126 and 127 as in a shell.
      """)

  @ParentCommand var root: NetwatchTool

  @Option(help: ArgumentHelp("A name for people who look at the service.", valueName: "text"))
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
    let ending = try CommandFailure.reporting { try LeasedCommand(command, label: label ?? command[0]).run() }
    switch ending {
    case .exited(let status): throw ExitCode(status)
    case .killed(let signal):
      // As the command did, so that a shell sees the same; but one core file is enough.
      var none = rlimit(rlim_cur: 0, rlim_max: 0)
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
      Glibc.signal(signal, SIG_DFL)
      var set = sigset_t()
      unsafe sigemptyset(&set)
      unsafe sigaddset(&set, signal)
      unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(signal)
      throw ExitCode(128 + signal)
    }
  }
}
