import Netwatch

/// The options that select links and set their kinds, by patterns of their names: `--interface` and similar ones.
package struct LinkRules: Hashable {
  /// The patterns of links that count as ways out; empty for all.
  package var included: [String] = []
  /// The patterns of links that are ignored.
  package var ignored: [String] = []
  /// The patterns of links that are modems.
  package var modems: [String] = []
  /// The patterns of links that are tunnels.
  package var tunnels: [String] = []
  /// The patterns of expensive links, for the names of links or of their WiFi networks.
  package var expensive: [String] = []
  /// The patterns of links that are not expensive, for the names of links or of their WiFi networks. They take precedence over
  /// ``expensive``.
  package var notExpensive: [String] = []
  /// Whether an IPv4 address in 169.254/16 can be the source of traffic.
  package var allowsLinkLocal = false

  /// Creates rules without any patterns.
  package init() {}

  /// Returns a configuration with these rules for a target.
  package func configuration(for target: NetworkTarget) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = target
    configuration.rules = rules
    if let includes { configuration.includesInterface = includes }
    return configuration
  }

  /// The rules as statements. A later one counts more.
  private var rules: NetworkRules {
    var statements: [NetworkRules.Statement] = modems.map { .modem(Self.glob($0)) }
    statements += tunnels.map { .tunnel(Self.glob($0)) }
    statements += ignored.map { .ignored(Self.glob($0)) }
    statements += expensive.map { .metered(true, .either(Self.glob($0))) }
    statements += notExpensive.map { .metered(false, .either(Self.glob($0))) }
    if allowsLinkLocal { statements.append(.linkLocal) }
    return NetworkRules(statements)
  }

  private var includes: (@Sendable (_ name: String) -> Bool)? {
    let globs = included.map(Self.glob)
    return globs.isEmpty ? nil : { @Sendable name in globs.contains { $0.matches(name.utf8) } }
  }

  /// Decides by name which links count; nil for all.
  ///
  /// - Parameter machine: The rules of the machine.
  package func selection(with machine: NetworkRules) -> ((_ name: String) -> Bool)? {
    let all = NetworkRules(machine.statements + rules.statements)
    if included.isEmpty, !all.ignoresLinks { return nil }
    return { [includes] in (includes?($0) ?? true) && !all.isIgnored(name: $0.utf8) }
  }

  private static func glob(_ pattern: String) -> Glob { Glob(pattern: pattern.utf8) }
}
