import Glibc
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

  func isOf(_ request: HTTPRequest) -> Bool {
    path == request.path && authority == request.authority && scheme == request.scheme
  }
}

/// The proxies that the process's environment names.
enum EnvironmentProxies {
  /// By the variables that libcurl reads for each request, unless it is told that there are none.
  static var exist: Bool {
    let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    return names.contains { name in unsafe getenv(name) != nil }
  }
}
