import Netwatch
import NetwatchNetlink

/// What is asked of netlink beside the records.
extension LineSource {
  /// How the present verdict has come about.
  package func findings() throws -> PathFindings {
    guard let reachability else { throw PlainError("netlink is not read") }
    return try reachability.findings()
  }

  /// The ID of the network that carries the last path from netlink; nil while that is not known.
  ///
  /// - Parameter key: that of this machine.
  package func network(key: [UInt8]) -> NetworkIdentity? {
    let facts = try? reachability?.networkFacts()
    return facts.flatMap { $0 }.map { NetworkIdentity(of: $0, key: key) }
  }
}
