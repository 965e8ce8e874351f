import ArgumentParser
import Netwatch

/// The conditions of `--check` and `wait`. `--for` is an option of the root command, which accepts it anywhere. `status` and
/// `wait` also declare it, for their `--help`. A group of options would make each start of netwatch longer.
extension NetwatchTool {
  static let conditionHelp: ArgumentHelp = {
    let rest =
      "\(Condition.names.joined(separator: ", ")). Of these, wifi means everything that is not cellular, also "
      + "a cable. May be repeated: all must hold. A condition that netwatch cannot judge does "
      + "not hold. Default: reachable."
    return ArgumentHelp(
      "With --check or wait, require this condition: \(rest)",
      in: ["status": "With --check, require this condition: \(rest)", "wait": "Wait for this condition: \(rest)"],
      valueName: "condition")
  }()

  /// Returns the conditions of the command line.
  ///
  /// - Parameter own: The conditions that the parser has given to the subcommand. Default: none.
  /// - Throws: A `ValidationError` if one is not a condition.
  func conditions(_ own: [String] = []) throws -> [Condition] { try (conditionWords + own).map(Condition.named) }

  func validateConditions() throws {
    let conditions = try conditions()
    if follow, !conditions.isEmpty {
      throw ValidationError("--for belongs to --check and wait; leave out --follow.")
    }
    if probe.probe == nil, let stage = conditions.stageByProbe {
      throw ValidationError("stage=\(stage.rawValue) needs an answer from a server; add --probe.")
    }
    guard conditions.contains(.notReachable) else { return }
    if conditions.contains(where: { $0 != .notReachable }) {
      throw ValidationError("--for not-reachable cannot be combined with another condition; leave out one of them.")
    }
    if probe.probe != nil {
      throw ValidationError(
        "--probe asks whether the internet answers, and --for not-reachable whether nothing is reachable; leave out one."
      )
    }
  }
}

extension [Condition] {
  /// Whether a condition is about the ID of the network.
  var needNetwork: Bool { contains { if case .network = $0 { true } else { false } } }

  /// Whether a condition is about a stage of the way to the internet.
  var needStages: Bool { contains { if case .stage = $0 { true } else { false } } }

  /// The first stage of a condition that only a probe can find to work; nil if there is none.
  fileprivate var stageByProbe: NetworkStage? {
    if contains(.stage(.dns)) { return .dns }
    return contains(.stage(.internet)) ? .internet : nil
  }
}

extension Condition {
  /// Reads the value of `--for`.
  fileprivate static func named(_ text: String) throws -> Condition {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      guard let condition = simple.first(where: { $0.name == text })?.condition else {
        throw ValidationError(unknown: text, of: names, for: "--for")
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
    case "stage":
      guard let stage = NetworkStage(rawValue: String(parts[1])) else {
        throw ValidationError(unknown: String(parts[1]), of: NetworkStage.names, for: "stage=")
      }
      return .stage(stage)
    default: throw ValidationError(unknown: text, of: names, for: "--for")
    }
  }
}
