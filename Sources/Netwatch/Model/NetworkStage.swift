/// A stage of the way from this machine to the internet, in order. If no link, no address or no route is usable, the later stages
/// are not examined.
public enum NetworkStage: String, Hashable, Sendable, CaseIterable {
  /// A link is switched on, and its other end is there.
  case link
  /// The link has an address that traffic can come from.
  case address
  /// The router that the default route leads to is alive.
  case gateway
  /// A configured name server answers.
  case dns
  /// A server in the internet answers.
  case internet
}
