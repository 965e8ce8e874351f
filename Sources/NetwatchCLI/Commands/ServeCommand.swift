import ArgumentParser
import Glibc
import Netwatch
import NetwatchStream

/// `netwatch serve`: runs the shared service.
struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the shared service: one monitor and one activity indicator for all programs.",
    discussion: """
      The service listens on --socket, otherwise on $NETWATCH_SOCKET, otherwise on $XDG_RUNTIME_DIR/netwatch.sock; without \
      these, root listens on /run/netwatch/netwatch.sock. If systemd passes a socket, that one is used. SIGTERM and SIGINT \
      end the service; SIGHUP makes it read everything from the kernel again. Add --exec or --hooks to run programs for each \
      line, --log to store changes and outages, and --traffic beside --log to store the bytes of each day. \
      'netwatch --help-all' describes --exec, --exec-timeout, --hooks and --log.
      """)

  @ParentCommand var root: NetwatchTool

  @Option(help: ArgumentHelp("Listen on this path.", valueName: "path"))
  var socket: String?

  @Option(help: ArgumentHelp("Accept at most N clients.", valueName: "n"))
  var connections = EventServer.standardConnectionLimit

  @Option(
    help: ArgumentHelp("Switch to this user after the socket was created. Only root can do this.", valueName: "name"))
  var user: String?

  @OptionGroup var activity: ActivityOptions
  @OptionGroup var details: DetailOptions
  @OptionGroup var traffic: TrafficOptions

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self, but: [ActivityOptions.self, DetailOptions.self, TrafficOptions.self])
    if let option = traffic.given, !root.log {
      throw ValidationError("serve uses \(option) only for the bytes in the log; add --log, or leave out \(option).")
    }
    _ = try traffic.interval(isShown: false)
    if connections < 1 { throw ValidationError("--connections needs 1 or more.") }
  }

  func run() throws {
    try PlainError.reporting {
      let manager = ServiceManager.fromEnvironment()
      raiseDescriptorLimit()
      let user = try user.map { try ServiceUser(named: $0) }
      let socket = try listen(manager)
      try user?.become()
      try Service(
        socket, manager: manager, activity: try activity.settings, connectionLimit: connections,
        version: NetwatchTool.configuration.version, saysWhatIsMissing: details.verbose, hooks: root.hookSettings,
        isLogged: root.log, loggedTraffic: try traffic.interval(isShown: false)
      ).run()
    }
  }

  private func listen(_ manager: ServiceManager) throws -> ListeningSocket {
    if let inherited = manager.sockets.first {
      guard manager.sockets.count == 1 else {
        throw PlainError(
          "systemd has handed over \(manager.sockets.count) sockets; write one ListenStream= in the unit")
      }
      return try ListeningSocket(inherited: inherited)
    }
    return try ListeningSocket(at: socket.map { ServiceAddress(path: $0) } ?? .standard())
  }

  private func raiseDescriptorLimit() {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
