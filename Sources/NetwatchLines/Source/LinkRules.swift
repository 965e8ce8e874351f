import Glibc
import Netwatch

/// The rules that select links and set their kinds, by globs of their names: `--interface` and similar options.
package struct LinkRules: Hashable {
  /// The globs of links that count as ways out; empty for all.
  package var included: [String] = []
  /// The globs of links that are ignored.
  package var ignored: [String] = []
  /// The globs of links that are modems.
  package var modems: [String] = []
  /// The globs of links that are tunnels.
  package var tunnels: [String] = []
  /// The globs of expensive links, for the names of links or of their WiFi networks.
  package var expensive: [String] = []
  /// The globs of links that are not expensive, for the names of links or of their WiFi networks. They take precedence over
  /// ``expensive``.
  package var notExpensive: [String] = []
  /// Whether an IPv4 address in 169.254/16 can be the source of traffic.
  package var allowsLinkLocal = false

  /// Creates rules without any globs.
  package init() {}

  /// Returns a configuration with these rules for a target.
  package func configuration(for target: NetworkTarget) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = target
    configuration.isModem = Self.rule(modems)
    configuration.isTunnel = Self.rule(tunnels)
    configuration.ignoresInterface = Self.rule(ignored)
    configuration.includesInterface = Self.rule(included)
    configuration.allowsLinkLocalIPv4 = allowsLinkLocal
    if !expensive.isEmpty || !notExpensive.isEmpty {
      configuration.isExpensive = { [expensive, notExpensive] name, network in
        let names = [name] + (network.map { [$0.text] } ?? [])
        func isMeant(by globs: [String]) -> Bool { globs.contains { glob in names.contains { matches(glob, $0) } } }
        return isMeant(by: notExpensive) ? false : isMeant(by: expensive) ? true : nil
      }
    }
    return configuration
  }

  /// Decides by name which links count; nil for all.
  package var selection: ((_ name: String) -> Bool)? {
    if included.isEmpty, ignored.isEmpty { return nil }
    let (includes, ignores) = (Self.rule(included), Self.rule(ignored))
    return { (includes?($0) ?? true) && !(ignores?($0) ?? false) }
  }

  /// Returns a rule that matches any of the globs; nil if there are none.
  private static func rule(_ globs: [String]) -> (@Sendable (_ name: String) -> Bool)? {
    globs.isEmpty ? nil : { @Sendable name in globs.contains { matches($0, name) } }
  }
}

private func matches(_ glob: String, _ name: String) -> Bool {
  unsafe fnmatch(glob, name, 0) == 0
}
