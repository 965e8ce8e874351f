import Netwatch
import NetwatchNetlink

@main
struct Example {
  static func main() async throws {
    let monitor = try NetworkMonitor.start()
    print("now:", monitor.currentPath.status)
    for try await path in monitor.paths {
      print(path.status, path.interfaceName ?? "-", path.reason)
    }
  }
}
