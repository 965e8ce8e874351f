import HTTPTypes

/// A scheme, a host and a port (RFC 6454 §4). Secrets between a client and a server stay within one origin.
struct Origin: Hashable, Sendable {
  private let scheme: String
  private let host: String
  private let port: Int

  /// Nil for a request without a valid http or https URL, which libcurl never gets.
  init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http",
      let authority = request.authority.flatMap(Authority.init)
    else { return nil }
    self.scheme = scheme
    host = authority.host.lowercased()
    port = authority.port ?? (scheme == "https" ? 443 : 80)
  }
}

extension HTTPRequest {
  /// Whether both requests go to the same origin. False if one of them has no valid origin.
  func isSameOrigin(as other: HTTPRequest) -> Bool {
    if authority == other.authority, scheme == other.scheme { return true }
    guard let origin = Origin(self), let other = Origin(other) else { return false }
    return origin == other
  }
}
