import Netwatch
import NetwatchNetlink

/// Requests to netlink that are not for records.
extension LineSource {
  /// Returns how the current verdict has come about. Throws if netlink is not read or fails.
  package func findings() throws -> PathFindings {
    guard let reachability else { throw PlainError("netlink is not read") }
    return try reachability.findings()
  }

  /// Returns the ID of the network that carries the last path from netlink; nil while it is not known.
  ///
  /// - Parameter key: The secret key of this machine.
  package func network(key: [UInt8]) -> NetworkIdentity? {
    let facts = try? reachability?.networkFacts()
    return facts.flatMap { $0 }.map { NetworkIdentity(of: $0, key: key) }
  }
}
