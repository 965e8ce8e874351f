import Netwatch
import NetwatchEventLoop
import NetwatchHTTP
import NetwatchLibC
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

/// `netwatch-http work`: carries out the transfers of background sessions, until none is left.
struct WorkCommand {
  private var startsItself = false
  private var waits = false

  @OptionTable<WorkCommand> static var options: [Option<WorkCommand>] {
    Option.flag(TransferWorker.startOption, of: [.work], help: "Start in the background, and return.") {
      $0.startsItself = $1
    }
    Option.flag(TransferWorker.waitOption, of: [.work], help: "Wait until no other one runs.") { $0.waits = $1 }
  }

  func run() throws -> ProcessEnding {
    if startsItself {
      try TransferWorker.startInBackground()
      return .exited(0)
    }
    // Whatever folder it was started in can be removed.
    unsafe chdir("/")
    if waits { try TransferWorker.waitForOthers() }
    let loop = try EventLoop()
    let signals = try SignalSource([SIGINT, SIGTERM, SIGHUP], on: loop) { [unowned loop] _ in loop.stop() }
    let indicator = ActivityIndicator()
    let reporter = try ActivityReporter(of: indicator, label: "transfers")
    var configuration = MonitorConfiguration()
    configuration.machineRules = .followed { StandardError.warn($0.sanitizedForTerminal) }
    try TransferWorker(on: loop, path: try NetworkMonitor.start(configuration), observer: indicator).run()
    withExtendedLifetime((signals, reporter)) {}
    return .exited(0)
  }
}
