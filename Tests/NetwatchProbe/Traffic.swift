import Glibc
import Netwatch
import NetwatchNetlink

/// Prints the first three values of the traffic over the path's link, and the first value after the path moves to
/// another link. If the path goes over several links, their names follow. At the end, prints how many threads of monitors are left.
enum Traffic {
  static func run() async throws {
    try await read()
    // Nothing retains the monitor any more, so its thread ends by itself.
    for _ in 0..<500 where Library.threadCount() > 0 { try await Task.sleep(for: .milliseconds(10)) }
    say("threads \(Library.threadCount())")
  }

  private static func read() async throws {
    let monitor = try NetworkMonitor.start()
    var count = 0
    var last = ""
    for await traffic in monitor.traffic(every: .milliseconds(100)) {
      count += 1
      if count <= 3 || traffic.interfaceName != last {
        let links = traffic.links.map { " \($0.interfaceName)" }.joined()
        say("\(traffic.interfaceName) \(traffic.receivedBitsPerSecond != nil) \(traffic.receivedBytes > 0)\(links)")
      }
      if !last.isEmpty, traffic.interfaceName != last { return }
      last = traffic.interfaceName
    }
  }
}
