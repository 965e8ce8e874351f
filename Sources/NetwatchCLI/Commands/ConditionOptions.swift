import ArgumentParser
import Netwatch

/// What `--check` and `wait` want of the network.
struct ConditionOptions: SharedOptions {
  @Option(
    name: .customLong("for"), parsing: .singleValue,
    help: ArgumentHelp(
      "With --check or wait, what has to hold: \(Condition.names.joined(separator: ", ")). May be repeated; all have to "
        + "hold. What is not known does not hold. Default: reachable.", valueName: "condition"),
    completion: .list(Condition.names), transform: Condition.named)
  var conditions: [Condition] = []

  var given: String? { conditions.isEmpty ? nil : "--for" }

  /// Whether one is about the ID of the network.
  var needNetwork: Bool { conditions.contains { if case .network = $0 { true } else { false } } }

  mutating func validate() throws {
    if conditions.contains(.notReachable), conditions.contains(where: { $0 != .notReachable }) {
      throw ValidationError("--for not-reachable goes with no other condition; leave out one of them.")
    }
  }

  func validate(with probe: ProbeOptions) throws {
    if probe.probe != nil, conditions.contains(.notReachable) {
      throw ValidationError("--probe waits for the internet, and --for not-reachable for its end; leave out one.")
    }
  }
}

extension Condition {
  /// What an option says.
  @Sendable fileprivate static func named(_ text: String) throws -> Condition {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      guard let condition = simple.first(where: { $0.name == text })?.condition else {
        throw ValidationError(unknown: text, of: names)
      }
      return condition
    }
    switch parts[0] {
    case "ssid":
      guard let ssid = SSID(parts[1].utf8), ssid.count > 0 else {
        throw ValidationError("ssid= needs the name of a WiFi network, 1 to \(SSID.capacity) bytes.")
      }
      return .ssid(ssid)
    case "network":
      guard let network = NetworkIdentity(String(parts[1])) else {
        throw ValidationError("network= needs the 16 digits that netwatch status --network-id prints.")
      }
      return .network(network)
    default: throw ValidationError(unknown: text, of: names)
    }
  }
}
