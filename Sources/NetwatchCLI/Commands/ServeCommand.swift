import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

/// `netwatch serve`: runs the shared service.
struct ServeCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let manager = ServiceManager.fromEnvironment()
    raiseDescriptorLimit()
    let user = try options.user.map { try ServiceUser(named: $0) }
    let socket = try listen(manager)
    try user?.become()
    startTransfers()
    try Service(
      socket, manager: manager, activity: try options.watch.activity(), connectionLimit: options.connections,
      version: NetwatchVersion.text, saysWhatIsMissing: options.isVerbose,
      rules: options.ignoresRules ? nil : RuleFiles(for: .service),
      hooks: options.hooks.areWanted ? options.hooks : nil, isLogged: options.isLogged,
      loggedTraffic: options.shownTrafficInterval
    ).run(in: options.network)
    return .exited(0)
  }

  private func listen(_ manager: ServiceManager) throws -> ListeningSocket {
    if let inherited = manager.sockets.first {
      guard manager.sockets.count == 1 else {
        throw PlainError(
          "systemd has handed over \(manager.sockets.count) sockets; write one ListenStream= in the unit")
      }
      return try ListeningSocket(inherited: inherited)
    }
    return try ListeningSocket(at: options.socket.map { ServiceAddress(path: $0) } ?? .standard())
  }

  /// Starts the program that carries out the transfers that are left, such as those from before a restart of the machine.
  private func startTransfers() {
    guard options.network == nil, let state = UserFolder.state,
      unsafe access("\(state)/netwatch/transfers/wanted.mark", F_OK) == 0,
      let program = try? HelperProgram.http.find(for: "serve")
    else { return }
    let child = try? ChildProcess.spawn(
      program, [Command.work.rawValue, "--start"], descriptors: [], closesOthers: true)
    if let child { _ = ChildProcess.waitForEnd(of: child) }
  }

  private func raiseDescriptorLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
