import Netwatch
import NetwatchEventLoop
import NetwatchOptions
import NetwatchStream

/// The conditions of `--for` and of libnetwatch.
extension NetworkCondition {
  /// The conditions that are written as one word.
  package static let simple: [NetworkCondition] = [
    .reachable, .notReachable, .wifi, .wwan, .medium(.wired), .unmetered, .vpn, .notVPN, .internet,
  ]

  package static let names =
    simple.map(\.description) + ["medium=MEDIUM", "ssid=NAME", "network=ID", "stage=STAGE", "uplink=MEDIUM"]

  /// The conditions that completions offer, some of which the user goes on to write.
  package static let suggestions =
    simple.map(\.description) + Medium.names.map { "medium=\($0)" } + ["ssid=", "network="]
    + NetworkStage.names.map { "stage=\($0)" } + Medium.names.map { "uplink=\($0)" }

  /// What people and other programs call a condition or a medium.
  private static let otherWords = [
    "wlan": "wifi", "wi-fi": "wifi", "lan": "wired", "ethernet": "wired", "cable": "wired",
    "cellular": "wwan", "mobile": "wwan", "lte": "wwan", "online": "reachable", "offline": "not-reachable",
  ]

  private static func unknown(_ value: String, of names: [String], behind key: String) -> PlainError {
    let meant = names.nearest(to: otherWords[value.lowercased()] ?? value).map { "did you mean \(key)\($0)?" }
    return PlainError(meant ?? "the possible values are \(names.map { key + $0 }.joined(separator: ", ")).")
  }

  /// Reads the value of `--for`.
  @Sendable package static func named(_ text: String) throws(PlainError) -> NetworkCondition {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else {
      guard let condition = simple.first(where: { $0.description == text }) else {
        throw PlainError(unknown: otherWords[text.lowercased()] ?? text, of: names)
      }
      return condition
    }
    switch parts[0] {
    case "ssid":
      guard let ssid = SSID(parts[1].utf8), ssid.count > 0 else {
        throw PlainError("ssid= needs the name of a WiFi network, 1 to \(SSID.capacity) bytes.")
      }
      return .ssid(ssid)
    case "network":
      guard let network = NetworkIdentity(parts[1]) else {
        throw PlainError("network= needs the 16 digits that netwatch status --network-id prints.")
      }
      return .network(network)
    case "medium":
      guard let medium = Medium(rawValue: parts[1]) else {
        throw unknown(parts[1], of: Medium.names, behind: "medium=")
      }
      return .medium(medium)
    case "uplink":
      guard let medium = Medium(rawValue: parts[1]) else {
        throw unknown(parts[1], of: Medium.names, behind: "uplink=")
      }
      return .uplink(medium)
    case "stage":
      guard let stage = NetworkStage(rawValue: parts[1]) else {
        throw unknown(parts[1], of: NetworkStage.names, behind: "stage=")
      }
      return .stage(stage)
    default: throw PlainError(unknown: text, of: names)
    }
  }

  /// Returns whether the condition holds for a record.
  ///
  /// - Parameter network: The closure that returns the ID of the network, or nil if it is not known. It is called only if the
  ///   result depends on the ID.
  package func holds(for record: EventRecord, in network: () -> NetworkIdentity?) -> Bool {
    var path = record.path
    path.findings = record.findings
    if case .network = self { path.findings.network = network() }
    return holds(for: path)
  }

  /// Returns a sentence that says why the condition does not hold for a record; nil if it holds.
  ///
  /// - Parameter network: As for ``holds(for:in:)``.
  package func refutation(for record: EventRecord, in network: () -> NetworkIdentity?) -> String? {
    holds(for: record, in: network) ? nil : "\(self) does not hold: \(fault(record, network))"
  }

  private func fault(_ record: EventRecord, _ network: () -> NetworkIdentity?) -> String {
    let path = record.path
    let carrier = "\(path.medium?.rawValue ?? "?") \(path.interfaceName ?? "?") carries the traffic"
    switch self {
    case .stage(let stage): return record.stages?.words(of: stage) ?? "it is not known"
    case .uplink(let medium):
      let uplinks = (record.uplinks ?? []).filter { $0.medium == medium }
      return uplinks.isEmpty
        ? "there is no such interface"
        : uplinks.map { "\($0.interfaceName): \($0.stages.faultWords ?? "not known")" }.joined(separator: "; ")
    case .ssid where path.status != .unknown:
      return path.wifi.map { "the WiFi network “\($0.ssid.text)” carries the traffic" }
        ?? "no WiFi network carries the traffic"
    case .notReachable where path.isReachable: return carrier
    case _ where path.status == .unknown: return "the state of the network is not known"
    case _ where !path.isReachable: return "nothing is reachable (\(path.reason.rawValue.words))"
    case .internet: return record.internet?.words.description ?? "no server was asked"
    case .network:
      return network().map { "the network's ID is \($0)" } ?? "the hardware address of the gateway is not known"
    case .unmetered where path.isExpensive: return "\(path.interfaceName ?? "?") may cost money"
    case .vpn: return "the traffic goes through no VPN"
    case .notVPN: return "the traffic goes through the VPN \(path.vpn?.interfaceName ?? "?")"
    case .unmetered: return "it is not known what carries the VPN \(path.vpn?.interfaceName ?? "?")"
    case .medium where path.vpn?.isCarrierKnown == false:
      return "it is not known what carries the VPN \(path.vpn?.interfaceName ?? "?")"
    case .reachable, .wifi, .wwan, .medium, .ssid, .notReachable: return carrier
    }
  }
}

extension [NetworkCondition] {
  /// Returns whether all conditions hold and, if the internet was probed, it answers. Without a condition, the network has to
  /// be reachable.
  package func hold(for record: EventRecord, in network: @autoclosure () -> NetworkIdentity?) -> Bool {
    guard record.internet?.isFull ?? true else { return false }
    if isEmpty { return record.path.isReachable }
    return allSatisfy { $0.holds(for: record, in: network) }
  }

  /// Whether a condition is about the ID of the network.
  package var needNetwork: Bool { contains { if case .network = $0 { true } else { false } } }

  /// Whether a condition is about a stage of the way to the internet.
  package var needStages: Bool { contains { if case .stage = $0 { true } else { false } } }

  /// Whether a condition is about links that could carry the traffic.
  package var needUplinks: Bool { contains { if case .uplink = $0 { true } else { false } } }

  /// The first condition that only a probe can find to hold, as users write it; nil if there is none.
  package var needingProbe: String? {
    if contains(.stage(.dns)) { return "stage=dns" }
    if contains(.stage(.internet)) { return "stage=internet" }
    return contains(.internet) ? "internet" : nil
  }

  /// Tells on standard error which conditions do not hold for a record, and why.
  package func tellRefutations(for record: EventRecord, in network: () -> NetworkIdentity?) {
    for sentence in compactMap({ $0.refutation(for: record, in: network) }) {
      StandardError.warn(sentence.sanitizedForTerminal)
    }
  }
}
