import Netwatch
import NetwatchStream

/// The environment variables that describe a record to a hook: `NETWATCH_STATUS` and so on.
///
/// A hook also gets the values of the previous line, as `NETWATCH_OLD_STATUS` and so on. A value that is unknown or absent is
/// an empty variable, so that a script under `set -u` needs no defaults. For the first line, all old values are empty.
struct HookVariables {
  /// The name of each variable without its prefix, and its value for a record. The help of `--exec` has the names from here;
  /// netwatch-serve(8) and the article TheCommand describe each one.
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

  /// The names without their prefix, in the order of the table; the last one is that of the sentence.
  static var names: [String] { table.map(\.name) + ["TEXT"] }

  /// The values in the order of the table.
  private let values: [String]
  /// The sentence about the state.
  private let sentence: String

  /// Creates the variables before the first record: every value is empty.
  init() {
    values = Self.table.map { _ in "" }
    sentence = ""
  }

  /// - Parameter target: The target that the path of the record leads to, which the sentence names. Default: the internet.
  init(_ record: EventRecord, about target: NetworkTarget = .internet) {
    values = Self.table.map { ($0.value(record) ?? "").inert }
    sentence = record.answer(about: target).inert
  }

  /// Returns the variables in the form of an environment.
  ///
  /// - Parameter old: The variables of the previous line.
  func entries(after old: HookVariables) -> [String] {
    zip(Self.table, values).map { "NETWATCH_\($0.name)=\($1)" } + ["NETWATCH_TEXT=\(sentence)"]
      + zip(Self.table, old.values).map { "NETWATCH_OLD_\($0.name)=\($1)" }
      + ["NETWATCH_OLD_TEXT=\(old.sentence)"]
  }
}

extension String {
  /// The text with U+FFFD in place of each character for which ``Unicode/Scalar/isUnsafeInTerminal`` is true. A zero byte would end the
  /// variable. The others could mislead a script that prints a value or reads it line by line, because strangers choose names.
  fileprivate var inert: String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars { result.append(scalar.isUnsafeInTerminal ? "\u{FFFD}" : scalar) }
    return String(result)
  }
}
