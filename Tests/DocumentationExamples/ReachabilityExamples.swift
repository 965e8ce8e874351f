import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// The code of the article on reachability.
struct ReachabilityExamples {
  func watch() async throws {
    let monitor = try NetworkMonitor.start()
    for try await path in monitor.paths {
      print(path.isReachable ? "online over \(path.medium?.rawValue ?? "?")" : "offline: \(path.reason.rawValue)")
    }
  }

  func hint(for path: NetworkPath) -> String? {
    switch path.reason {
    case .noCarrier: "Is the cable plugged in?"
    case .noAddress: "Waiting for an address"
    case .vpnWithoutUnderlay: "The tunnel is up, but nothing carries it"
    default: nil
    }
  }

  func watchOffice() throws -> [NetworkMonitor] {
    let office = try NetworkMonitor.start(target: NetworkTarget("vpn.example.org:443"))
    let printer = try NetworkMonitor.start(target: NetworkTarget("10.1.2.3"), sharing: office)
    return [office, printer]
  }

  func sendWhenFree(_ monitor: NetworkMonitor, send: () async throws -> Void) async throws {
    guard await monitor.waitUntil(.unmetered, within: .seconds(30)) else { return }
    try await send()
  }

  func startCurious() throws -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.probe = try HTTPInternetProbe("http://connectivity.example/generate_204")
    configuration.watchesStages = true
    configuration.measuresQuality = true
    configuration.identifiesNetwork = true
    return try NetworkMonitor.start(configuration)
  }

  func explain(_ path: NetworkPath) {
    print(path.sentence())
    if case .portal = path.internet { print("log in at \(path.portal?.description ?? "any page")") }
    if let stage = path.stages?.failing { print("look at the \(stage.rawValue)") }
    if let quality = path.linkQuality { print(quality) }
  }

  func startPatiently() throws -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.hold = .seconds(2)
    configuration.ignoresInterface = { $0.hasPrefix("docker") }
    return try NetworkMonitor.start(configuration)
  }

  func startByTheRules() throws -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.machineRules = .followed { sentence in print(sentence) }
    return try NetworkMonitor.start(configuration)
  }
}
