import Netwatch

/// The addresses of names that are not looked up.
struct AddressOverrides {
  private var addresses: [String: [IPAddress]] = [:]

  /// - Parameter overrides: The addresses, by `name` or `name:port`.
  /// - Throws: `badConfiguration` for a key that is not a name, and for a name without addresses.
  init(_ overrides: [String: [IPAddress]]) throws(HTTPError) {
    for (key, addresses) in overrides {
      guard let authority = Authority(key), let name = HostName.canonical(authority.host),
        !NameLookups.isKnown(authority.host)
      else { throw Self.refusal("'\(key)' is no name that is looked up; write a name, or a name and a port") }
      guard !addresses.isEmpty else { throw Self.refusal("'\(key)' has no addresses; add one, or leave the name out") }
      self.addresses[authority.port.map { "\(name):\($0)" } ?? name] = addresses
    }
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.badConfiguration, "start session", message: "addressOverrides: \(message)")
  }

  /// Returns the addresses of a host. Nil if it has to be looked up.
  func addresses(of host: Authority) -> [IPAddress]? {
    guard !addresses.isEmpty, let name = HostName.canonical(host.host) else { return nil }
    return host.port.flatMap { addresses["\(name):\($0)"] } ?? addresses[name]
  }
}
