import Netwatch
import NetwatchEventLoop

/// `netwatch top`: shows what programs receive and send.
struct TopCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    try ProgramFollower(
      options.output.wantsJSON ? .json : .text(options.output.terminal, options.units ?? .bits),
      sortedBy: options.order ?? .all, by: options.grouping ?? .name, isOnce: options.isOnce
    ).run()
  }
}
