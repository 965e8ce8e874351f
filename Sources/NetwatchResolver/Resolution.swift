import Netwatch

/// The addresses of a host name.
package struct Resolution: Hashable, Sendable {
  /// The addresses or the error of a lookup.
  package typealias Outcome = Result<Resolution, ResolverError>

  /// The most addresses of one host that are kept, because an answer can have thousands.
  static let mostAddresses = 16

  /// The addresses: from 1 to 16, each once, in the order of preference (RFC 6724).
  package var addresses: [InternetAddress]
  /// The time for which the addresses are valid: the shortest of all records. Nil if it is not known, as from the hosts file.
  package var timeToLive: Duration?
}
