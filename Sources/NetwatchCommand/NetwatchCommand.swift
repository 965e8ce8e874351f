import NetwatchCLI
import NetwatchEventLoop

// Not main.swift: closures in top-level code are bound to the main actor.
@main
enum NetwatchCommand {
  static func main() {
    SignalSource.prepareProgram()
    NetwatchProgram.run([String].ofCommandLine())
  }
}
