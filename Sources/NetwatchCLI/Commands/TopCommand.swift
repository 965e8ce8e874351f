import ArgumentParser
import Netwatch
import NetwatchEventLoop

/// `netwatch top`: shows what programs receive and send.
struct TopCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top", abstract: "Show what each program receives and sends over TCP, once a second.",
    discussion: """
      top counts payload, from its own start. Connections within this machine are left out. Unless you are root, all programs of \
      another user share a row. On a terminal, the keys a, r, s, c and n sort by both rates, received, sent, connections and name; \
      q quits. If standard output is not a terminal, top prints a line of JSON each second.
      """)

  @ParentCommand var root: NetwatchTool

  @Flag(help: "Print the figures of one second and exit.")
  var once = false

  @Option(
    help: "Sort the table by both rates (all), by one of them, by connections or by name. Default: all.")
  var sort: ProgramTable.Order?

  @OptionGroup var units: UnitsOptions
  @OptionGroup var output: OutputOptions

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self, but: [OutputOptions.self, UnitsOptions.self])
    try output.refuseBars(for: Self.self)
  }

  func run() throws {
    let terminal = output.terminal
    let isJSON = output.wantsJSON || output.format == nil && !terminal.isTerminal
    if isJSON, let given = sort != nil ? "--sort" : units.given {
      throw ValidationError("\(given) belongs to text; give --format text.")
    }
    let ending = try PlainError.reporting {
      try ProgramFollower(
        isJSON ? .json : .text(terminal, units.units ?? .bits), sortedBy: sort ?? .all, isOnce: once
      ).run()
    }
    if ending != .exited(0) { throw ExitCode(ending.imitate()) }
  }
}

extension ProgramTable.Order: ExpressibleByArgument {}
