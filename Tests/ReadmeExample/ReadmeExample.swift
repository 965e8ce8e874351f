import Netwatch
import NetwatchNetlink

@main
struct Example {
  static func main() async throws {
    let monitor = try NetworkMonitor.start()
    print("now:", monitor.currentPath)
    for try await path in monitor.paths { print(path) }
  }
}
