import Glibc
import Netwatch

/// Which links count, and as what, by globs of their names: `--interface` and its like.
package struct LinkRules: Hashable {
  /// Only these count as ways out; empty for all.
  package var included: [String] = []
  package var ignored: [String] = []
  package var modems: [String] = []
  package var tunnels: [String] = []
  /// Names of links, or of their WiFi networks.
  package var expensive: [String] = []
  /// Names of links, or of their WiFi networks. They win.
  package var notExpensive: [String] = []

  package init() {}

  package func configuration(for target: NetworkTarget) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = target
    configuration.isModem = Self.rule(modems)
    configuration.isTunnel = Self.rule(tunnels)
    configuration.ignoresInterface = Self.rule(ignored)
    configuration.includesInterface = Self.rule(included)
    if !expensive.isEmpty || !notExpensive.isEmpty {
      configuration.isExpensive = { [expensive, notExpensive] name, network in
        let names = [name] + (network.map { [$0.text] } ?? [])
        func isMeant(by globs: [String]) -> Bool { globs.contains { glob in names.contains { matches(glob, $0) } } }
        return isMeant(by: notExpensive) ? false : isMeant(by: expensive) ? true : nil
      }
    }
    return configuration
  }

  /// Nil if there are no globs.
  private static func rule(_ globs: [String]) -> (@Sendable (_ name: String) -> Bool)? {
    globs.isEmpty ? nil : { @Sendable name in globs.contains { matches($0, name) } }
  }
}

private func matches(_ glob: String, _ name: String) -> Bool {
  unsafe fnmatch(glob, name, 0) == 0
}
