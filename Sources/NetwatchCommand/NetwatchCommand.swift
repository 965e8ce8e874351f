import Glibc
import NetwatchCLI
import NetwatchEventLoop

// Not main.swift: closures in top-level code are bound to the main actor.
@main
enum NetwatchCommand {
  static func main() {
    // Whoever started us may ignore it, and then nobody would learn how a child of ours has ended.
    signal(SIGCHLD, SIG_DFL)
    NetwatchTool.start([String].ofCommandLine())
  }
}
