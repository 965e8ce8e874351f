import Netwatch
import NetwatchStream

/// What a hook is told of a record in its environment: `NETWATCH_STATUS` and so on.
///
/// A hook also gets each value that the hook before was told, as `NETWATCH_OLD_STATUS` and so on. What is unknown or absent is an
/// empty variable, so that a script under `set -u` needs no defaults; before the first hook, all old values are empty.
struct HookVariables {
  /// Each variable without its prefix, and what it says. A new variable is one more entry.
  private static let table: [(name: String, value: @Sendable (EventRecord) -> String?)] = [
    ("STATUS", { $0.path.status.rawValue }),
    ("MEDIUM", { $0.path.medium?.rawValue }),
    ("INTERFACE", { $0.path.interfaceName }),
    ("IPV4", { $0.path.ipv4?.address.description }),
    ("IPV6", { $0.path.ipv6?.address.description }),
    ("GATEWAY", { $0.path.gateways.first?.description }),
    ("SSID", { $0.path.wifi?.ssid.text }),
    ("VPN", { $0.path.vpn?.interfaceName }),
    ("EXPENSIVE", { $0.path.isReachable ? "\($0.path.isExpensive)" : nil }),
    ("EVENT", { $0.event.rawValue }),
    ("REASON", { $0.reason }),
    ("VISIBLE", { "\($0.activity.state.isVisible)" }),
    ("INTERNET", { $0.internet?.rawValue }),
    ("STAGE", { $0.stages?.failing?.rawValue }),
  ]

  /// In the order of the table.
  private let values: [String]

  /// Before any record: every value is empty.
  init() { values = Self.table.map { _ in "" } }

  init(_ record: EventRecord) { values = Self.table.map { ($0.value(record) ?? "").inert } }

  /// The variables as an environment has them.
  ///
  /// - Parameter old: what the hook before was told.
  func entries(after old: HookVariables) -> [String] {
    zip(Self.table, values).map { "NETWATCH_\($0.name)=\($1)" }
      + zip(Self.table, old.values).map { "NETWATCH_OLD_\($0.name)=\($1)" }
  }
}

extension String {
  /// With U+FFFD in the place of each character that ``Unicode/Scalar/steersText``. A variable ends at a zero byte, and a script
  /// that prints a value or reads it line by line must not obey the stranger who has chosen it.
  fileprivate var inert: String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars { result.append(scalar.steersText ? "\u{FFFD}" : scalar) }
    return String(result)
  }
}
