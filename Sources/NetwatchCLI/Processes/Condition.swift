import Netwatch
import NetwatchOptions
import NetwatchStream

/// A condition on the network, such as those of `--for`.
///
/// A condition that is not known does not hold. While nothing is reachable, only ``notReachable`` and ``stage(_:)`` can hold.
enum Condition: Hashable {
  case reachable, notReachable, wifi, wwan
  /// The interface that carries the traffic is known, and costs nothing as far as netwatch knows.
  case unmetered
  /// The traffic goes through no tunnel.
  case notVPN
  /// The WiFi network with this name carries the traffic. Names are compared byte by byte.
  case ssid(SSID)
  /// The network with this ID carries the traffic.
  case network(NetworkIdentity)
  /// This stage of the way to the internet works.
  case stage(NetworkStage)

  /// The conditions that are written as one word.
  static let simple: [(name: String, condition: Condition)] = [
    ("reachable", .reachable), ("not-reachable", .notReachable), ("wifi", .wifi), ("wwan", .wwan),
    ("unmetered", .unmetered), ("not-vpn", .notVPN),
  ]

  static let names = simple.map(\.name) + ["ssid=NAME", "network=ID", "stage=STAGE"]

  /// The conditions that completions offer, some of which the user goes on to write.
  static let suggestions =
    simple.map(\.name) + ["ssid=", "network="] + NetworkStage.names.map { "stage=\($0)" }

  /// Reads the value of `--for`.
  @Sendable static func named(_ text: String) throws(PlainError) -> Condition {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2 else {
      guard let condition = simple.first(where: { $0.name == text })?.condition else {
        throw PlainError(unknown: text, of: names)
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
    case "stage":
      guard let stage = NetworkStage(rawValue: parts[1]) else {
        throw PlainError(unknown: text, of: NetworkStage.names.map { "stage=\($0)" })
      }
      return .stage(stage)
    default: throw PlainError(unknown: text, of: names)
    }
  }

  /// Returns whether the condition holds for a record.
  ///
  /// - Parameter network: The closure that returns the ID of the network, or nil if it is not known. It is called only if the
  ///   result depends on the ID.
  func holds(for record: EventRecord, in network: () -> NetworkIdentity?) -> Bool {
    let path = record.path
    return switch self {
    case .reachable: path.isReachable
    case .notReachable: path.status == .notReachable
    case .wifi: path.status == .wifi
    case .wwan: path.status == .wwan
    case .unmetered: path.isReachable && !path.isExpensive && path.vpn?.isCarrierKnown ?? true
    case .notVPN: path.isReachable && path.vpn == nil
    case .ssid(let ssid): path.verdict.ssid == ssid
    case .network(let wanted): path.isReachable && network() == wanted
    case .stage(let stage): record.stages?[stage].isOK ?? false
    }
  }
}

extension [Condition] {
  /// Returns whether all conditions hold and, if the internet was probed, it answers. Without a condition, the network has to
  /// be reachable.
  func hold(for record: EventRecord, in network: @autoclosure () -> NetworkIdentity?) -> Bool {
    guard record.internet?.isFull ?? true else { return false }
    if isEmpty { return record.path.isReachable }
    return allSatisfy { $0.holds(for: record, in: network) }
  }

  /// Whether a condition is about the ID of the network.
  var needNetwork: Bool { contains { if case .network = $0 { true } else { false } } }

  /// Whether a condition is about a stage of the way to the internet.
  var needStages: Bool { contains { if case .stage = $0 { true } else { false } } }

  /// The first stage of a condition that only a probe can find to work; nil if there is none.
  var stageByProbe: NetworkStage? {
    if contains(.stage(.dns)) { return .dns }
    return contains(.stage(.internet)) ? .internet : nil
  }
}
