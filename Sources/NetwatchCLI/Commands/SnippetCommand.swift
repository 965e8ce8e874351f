import ArgumentParser

/// `netwatch snippet`: a piece of configuration.
struct SnippetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snippet", abstract: "Print a ready piece of a status bar's configuration.",
    discussion: "Its first line says where it belongs. netwatch has to be in the bar's PATH; else write its whole path."
  )

  @ParentCommand var root: NetwatchTool

  @Argument(
    help: ArgumentHelp("Which bar: \(Bar.names.joined(separator: ", ")).", valueName: "bar"),
    completion: .list(Bar.names), transform: { try Bar.named($0) })
  var bar: Bar

  mutating func validate() throws { try root.refuseOptions(of: Self.self) }

  func run() throws {
    try CommandFailure.reporting {
      try unsafe StandardOutput().write([UInt8]((bar.snippet + "\n").utf8).span.bytes)
    }
  }
}
