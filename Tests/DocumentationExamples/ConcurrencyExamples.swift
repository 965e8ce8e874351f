import Dispatch
import Netwatch
import NetwatchNetlink

/// The code of the article on concurrency.
struct ConcurrencyExamples {
  @MainActor func follow(_ monitor: NetworkMonitor, in label: Label) -> CallbackSubscription {
    monitor.onChange { path in label.text = path.isReachable ? "online" : "offline: \(path.reason.rawValue)" }
  }

  func follow(
    _ monitor: NetworkMonitor, on queue: DispatchQueue, log: @escaping @Sendable (NetworkPath) -> Void
  ) -> CallbackSubscription {
    monitor.onChange(enqueue: { queue.async(execute: $0) }, log)
  }

  func wait(for monitor: NetworkMonitor) async throws {
    for try await path in monitor.paths where path.isReachable { return }
  }

  @MainActor final class Model {
    private var subscription: CallbackSubscription?
    private(set) var isOnline = false

    func start() throws {
      subscription = try NetworkMonitor.start().onChange { [weak self] in self?.isOnline = $0.isReachable }
    }
  }

  actor Recorder {
    private var subscription: CallbackSubscription?
    private var outages = 0

    func start(_ monitor: NetworkMonitor) {
      subscription = monitor.onChange { [weak self] path in
        self?.assumeIsolated { if !path.isReachable { $0.outages += 1 } }
      }
    }
  }
}

/// A view of an app.
@MainActor final class Label {
  var text = ""
}
