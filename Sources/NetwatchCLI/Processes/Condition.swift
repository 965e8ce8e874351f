import Netwatch
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
}
