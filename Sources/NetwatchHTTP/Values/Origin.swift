import HTTPTypes

/// A scheme, a host and a port (RFC 6454 §4). What is secret between a client and a server stays within one.
struct Origin: Hashable, Sendable {
  private let scheme: String
  private let host: String
  private let port: Int

  /// Nil for a request that libcurl is never given, because its place is none for HTTP.
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
  /// False also if one of them has no place at all.
  func isSameOrigin(as other: HTTPRequest) -> Bool {
    if authority == other.authority, scheme == other.scheme { return true }
    guard let origin = Origin(self), let other = Origin(other) else { return false }
    return origin == other
  }
}
