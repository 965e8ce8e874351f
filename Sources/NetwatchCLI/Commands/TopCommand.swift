import Netwatch
import NetwatchEventLoop

/// `netwatch top`: shows what programs receive and send.
struct TopCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    try ProgramFollower(
      options.topPrintsJSON ? .json : .text(options.output.terminal, options.units ?? .bits),
      sortedBy: options.order ?? .all, isOnce: options.isOnce
    ).run()
  }
}

extension ParsedOptions {
  /// Whether `top` prints JSON lines.
  var topPrintsJSON: Bool { output.wantsJSON || output.format == nil && !output.terminal.isTerminal }
}
