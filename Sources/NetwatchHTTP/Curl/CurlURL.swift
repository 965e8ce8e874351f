import HTTPTypes

/// Where a request goes, in libcurl's words. The next request most often goes to the same place, and asks for no other.
final class CurlURL {
  let text: String
  let isSecure: Bool
  private let scheme: String?
  private let authority: String?
  private let path: String?

  /// Nil where it is no place for HTTP.
  init?(of request: HTTPRequest) {
    guard let text = request.urlText, let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http"
    else { return nil }
    self.text = text
    isSecure = scheme == "https"
    self.scheme = request.scheme
    authority = request.authority
    path = request.path
  }

  /// With its port.
  var server: Authority? {
    authority.flatMap(Authority.init).map { Authority($0.host, $0.port ?? (isSecure ? 443 : 80)) }
  }

  func isOf(_ request: HTTPRequest) -> Bool {
    path == request.path && authority == request.authority && scheme == request.scheme
  }
}
