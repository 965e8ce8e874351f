import ArgumentParser

/// `netwatch snippet`: a piece of configuration.
struct SnippetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "snippet", abstract: "Print a ready piece of a status bar's configuration.",
    discussion: "Its first line says where it belongs. netwatch has to be in the bar's PATH; else write its whole path."
  )

  @ParentCommand var root: NetwatchTool

  @Argument(
    help: ArgumentHelp("Which bar: \(Snippet.list).", valueName: "bar"), completion: .list(Snippet.names),
    transform: Snippet.named)
  var bar: Snippet

  mutating func validate() throws { try root.refuseOptions(of: Self.self) }

  func run() throws {
    try CommandFailure.reporting {
      try unsafe StandardOutput().write([UInt8]((bar.text + "\n").utf8).span.bytes)
    }
  }
}
