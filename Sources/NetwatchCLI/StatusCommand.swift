import ArgumentParser
import Netwatch
import NetwatchEventLoop

/// `netwatch status`: one snapshot.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "status", abstract: "Print the present state and end.")

  @OptionGroup var output: OutputOptions
  @OptionGroup var snapshot: SnapshotOptions
  @OptionGroup var path: PathOptions

  func run() throws { try Snapshot.print(output, snapshot, path) }
}

/// One look at the kernel.
enum Snapshot {
  static func print(_ output: OutputOptions, _ options: SnapshotOptions, _ path: PathOptions) throws {
    let follower = Follower(
      configuration: path.configuration, renderer: output.makeRenderer(listsInterfaces: options.interfaces), count: 1)
    try CommandFailure.reporting { try follower.run() }
    if options.check, !follower.isReachable { throw ExitCode(1) }
  }
}
