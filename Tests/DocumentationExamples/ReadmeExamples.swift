import Dispatch
import Netwatch
import NetwatchNetlink
import NetwatchStream

/// The code of the README that is no program.
struct ReadmeExamples {
  @MainActor func call(_ monitor: NetworkMonitor, label: Label, queue: DispatchQueue) {
    // On the caller's actor; may touch its state. The current path comes first, before this returns.
    let subscription = monitor.onChange { path in label.text = path.isReachable ? "online" : "offline: \(path.reason)" }

    // Wherever you say.
    let other = monitor.onChange(enqueue: { queue.async(execute: $0) }) { path in log(path) }
    _ = (subscription, other)
  }

  func measure(_ monitor: NetworkMonitor) async {
    for await traffic in monitor.traffic(every: .seconds(2)) {
      print(traffic.interfaceName, traffic.receivedBitsPerSecond ?? 0, traffic.sentBitsPerSecond ?? 0)
    }
  }

  func share() throws {
    let office = try NetworkMonitor.start(target: NetworkTarget("vpn.example.org:443"))
    let printer = try NetworkMonitor.start(target: NetworkTarget("10.1.2.3"), sharing: office)
    _ = (office, printer)
  }

  @MainActor func count(spinner: Spinner) {
    let activity = ActivityIndicator()  // 1.0 s, 0.17 s; both can be set
    let shown = activity.onVisibilityChange { spinner.isHidden = !$0 }

    let request = activity.begin("upload")  // ends with end(), or when it goes out of scope
    defer { request.end() }
    _ = shown
  }

  func read() async throws {
    // The state first, then each change. If the service ends, a record says so; when one is back, the loop goes on.
    for await record in try EventStream() {
      print(record.path.status, record.activity.inFlight)
    }
  }

  private func log(_ path: NetworkPath) {}
}
