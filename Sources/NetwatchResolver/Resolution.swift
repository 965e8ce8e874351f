import Netwatch

/// Where a host name leads.
package struct Resolution: Hashable, Sendable {
  package typealias Outcome = Result<Resolution, ResolverError>

  /// As many as a host may have: an answer can name thousands.
  static let mostAddresses = 16

  /// At least one, at most 16, each once; the one that a program would use first comes first (RFC 6724).
  package var addresses: [IPAddress]
  /// How long this holds, by the shortest of all that it was made of. Nil where that is not known, as from the hosts file.
  package var timeToLive: Duration?
}
