/// What a network says about its captive portal, by a router advertisement or a DHCP lease (RFC 8910).
///
/// Nobody signs router advertisements or leases: another machine in the network may have sent this.
public enum PortalAPI: Hashable, Sendable, CustomStringConvertible {
  /// The address at which the network says whether a user has to log in, and where (RFC 8908).
  case address(PortalURL)
  /// The network says that it has no captive portal.
  case unrestricted

  /// The URI of RFC 8910, section 2, that means that there is no captive portal.
  private static let unrestrictedURI = "urn:ietf:params:capport:unrestricted"

  /// Reads a URI. Nil if it is neither a web address nor the URI that means that there is no captive portal.
  public init?(_ text: String) {
    if text.lowercased() == Self.unrestrictedURI {
      self = .unrestricted
    } else if let address = PortalURL(text) {
      self = .address(address)
    } else {
      return nil
    }
  }

  /// The URI.
  public var description: String {
    switch self {
    case .address(let address): address.description
    case .unrestricted: Self.unrestrictedURI
    }
  }
}
