import NetwatchCLI

// Not main.swift: closures in top-level code are bound to the main actor.
@main
enum NetwatchCommand {
  static func main() { NetwatchTool.main() }
}
