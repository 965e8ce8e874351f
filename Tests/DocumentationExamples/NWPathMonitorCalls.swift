import Dispatch
import Netwatch
import NetwatchHTTP
import NetwatchNetlink
import NetwatchObservation

/// The calls in `contrib/examples/parity/NWPathMonitor.md`, which are compiled here.
struct NWPathMonitorCalls {
  let monitor: NetworkMonitor

  // MARK: NWPathMonitor

  func monitors() throws -> [NetworkMonitor] {
    var configuration = MonitorConfiguration()
    configuration.requiredMedium = .wifi
    configuration.prohibitedMedia = [.wwan]
    return [
      try NetworkMonitor.start(), try NetworkMonitor.start(configuration),
      try NetworkMonitor.start(target: NetworkTarget("10.1.2.3")),
    ]
  }

  @MainActor func changes(_ queue: DispatchQueue) -> [CallbackSubscription] {
    print(monitor.currentPath)
    return [
      monitor.onChange { path in print(path) },
      monitor.onChange(enqueue: { queue.async(execute: $0) }) { print($0) },
    ]
  }

  func sequence() async throws {
    for try await path in monitor.paths { print(path) }
  }

  func end(_ subscription: CallbackSubscription) { subscription.cancel() }

  @MainActor func model(_ indicator: ActivityIndicator) -> NetworkModel {
    NetworkModel(monitor, activity: indicator)
  }

  // MARK: NWPath and NWInterface

  func read(_ path: NetworkPath, _ other: NetworkPath) {
    print(path)
    debugPrint(path)
    print(path.isReachable, path.reason, path.sentence(), path.availableInterfaces, path.uses(.wifi))
    print(path.isExpensive, path.expense as Any, path.isConstrained)
    print(path.linkQuality?.roundTripTime as Any, path.linkQuality?.lossPercent as Any)
    print(path.supportsIPv4, path.supportsIPv6, path.stages?[.dns].state as Any, path.gateways)
    print(path.ipv4?.address as Any, path.ipv6?.address as Any, path == other)
  }

  func read(_ interface: Interface) {
    print(interface.name, interface.index, interface.isLoopback)
    print(interface.medium == .wifi, interface.medium == .wwan, interface.medium == .wired, interface.medium == .other)
  }

  func options() -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.requiredMedia = [.wifi]
    return options
  }
}
