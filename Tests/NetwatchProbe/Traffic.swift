import Glibc
import Netwatch
import NetwatchNetlink

/// What the link carries: the first three values as lines, and then the next link's. At the end, how many threads are left.
enum Traffic {
  static func run() async throws {
    try await read()
    // The thread of a monitor that nobody holds goes by itself.
    for _ in 0..<500 where threads > 0 { try await Task.sleep(for: .milliseconds(10)) }
    say("threads \(threads)")
  }

  private static func read() async throws {
    let monitor = try NetworkMonitor.start()
    var count = 0
    var last = ""
    for await traffic in monitor.traffic(every: .milliseconds(100)) {
      count += 1
      if count <= 3 || traffic.interfaceName != last {
        say("\(traffic.interfaceName) \(traffic.receivedBitsPerSecond != nil) \(traffic.receivedBytes > 0)")
      }
      if !last.isEmpty, traffic.interfaceName != last { return }
      last = traffic.interfaceName
    }
  }

  /// Of monitors.
  private static var threads: Int {
    guard let folder = unsafe opendir("/proc/self/task") else { return -1 }
    defer { unsafe closedir(folder) }
    var count = 0
    while let entry = unsafe readdir(folder) {
      let id = unsafe withUnsafeBytes(of: entry.pointee.d_name) {
        unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let file = unsafe fopen("/proc/self/task/\(id)/comm", "r") else { continue }
      var line = [CChar](repeating: 0, count: 32)
      unsafe fgets(&line, 32, file)
      unsafe fclose(file)
      if String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self) == "netwatch"
      {
        count += 1
      }
    }
    return count
  }
}
