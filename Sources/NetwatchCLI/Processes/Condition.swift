import Netwatch
import NetwatchStream

/// What somebody wants of the network before something else begins.
///
/// What is not known does not hold: no condition but ``notReachable`` does while nothing is reachable.
enum Condition: Hashable {
  case reachable, notReachable, wifi, wwan
  /// The link that carries the traffic is known, and costs nothing as far as netwatch knows.
  case unmetered
  /// The traffic goes through no tunnel.
  case notVPN
  /// The WiFi network of this name, to the byte, carries the traffic.
  case ssid(SSID)
  /// The network of this ID carries the traffic.
  case network(NetworkIdentity)
  /// This stage of the way to the internet works.
  case stage(NetworkStage)

  /// Those that are one word.
  static let simple: [(name: String, condition: Condition)] = [
    ("reachable", .reachable), ("not-reachable", .notReachable), ("wifi", .wifi), ("wwan", .wwan),
    ("unmetered", .unmetered), ("not-vpn", .notVPN),
  ]

  static let names = simple.map(\.name) + ["ssid=NAME", "network=ID", "stage=STAGE"]

  /// - Parameter network: the ID of the network; nil if that is not known. Asked only if nothing else decides.
  func holds(for record: EventRecord, in network: () -> NetworkIdentity?) -> Bool {
    let path = record.path
    return switch self {
    case .reachable: path.verdict.isReachable
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
  /// Whether all hold, and the internet answers if that was probed. Without a condition, the network has to be reachable.
  func hold(for record: EventRecord, in network: @autoclosure () -> NetworkIdentity?) -> Bool {
    guard record.internet?.isFull ?? true else { return false }
    if isEmpty { return record.path.verdict.isReachable }
    return allSatisfy { $0.holds(for: record, in: network) }
  }
}
