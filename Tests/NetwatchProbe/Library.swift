import Glibc
import Netwatch
import NetwatchNetlink

/// The library as an app uses it. Each callback prints a line. Each line of stdin is an order: `cancel`, `path`, or
/// anything else to end.
enum Library {
  @MainActor static func run() async throws {
    try await use()
    // Nothing retains the monitor any more, so its thread ends by itself.
    for _ in 0..<500 where threadCount() > 0 { usleep(10_000) }
    say("threads \(threadCount())")
  }

  @MainActor private static func use() async throws {
    let monitor = try NetworkMonitor.start()
    let path = monitor.currentPath
    say("current \(path.status.rawValue) \(path.interfaceName ?? "-") threads \(threadCount())")

    // The count belongs to the main actor, on which the callback runs.
    var calls = 0
    let onActor = monitor.onChange { path in
      calls += 1
      say("actor \(path.status.rawValue) \(calls)")
    }
    let immediately = monitor.onChangeImmediately(initial: false) { say("immediately \($0.status.rawValue)") }
    let reader = Task.detached {
      for try await path in monitor.paths { say("sequence \(path.status.rawValue)") }
      say("sequence ended")
    }
    for await order in orders() {
      switch order {
      case "cancel":
        onActor.cancel()
        immediately.cancel()
        say("cancelled")
      case "path":
        let path = monitor.currentPath
        let available = path.availableInterfaces.map(\.name).joined(separator: ",")
        let gateways = path.gateways.map(\.description).joined(separator: ",")
        say("path \(path.supportsIPv4) \(path.supportsIPv6) \(path.isExpensive) [\(available)] [\(gateways)]")
      default:
        reader.cancel()
        try await reader.value
        return
      }
    }
  }

  /// Returns the number of threads of this process that belong to a monitor.
  static func threadCount() -> Int {
    guard let folder = unsafe opendir("/proc/self/task") else { return -1 }
    defer { unsafe closedir(folder) }
    var count = 0
    while let entry = unsafe readdir(folder) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      guard let comm = unsafe fopen("/proc/self/task/\(name)/comm", "r") else { continue }
      defer { unsafe fclose(comm) }
      var text = [CChar](repeating: 0, count: 32)
      if unsafe fgets(&text, 32, comm) != nil, unsafe strcmp(text, "netwatch\n") == 0 { count += 1 }
    }
    return count
  }

  private static func orders() -> AsyncStream<String> {
    AsyncStream { continuation in
      Task.detached {
        while let line = readLine() { continuation.yield(line) }
        continuation.finish()
      }
    }
  }
}
