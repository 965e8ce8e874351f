import CLibCurl
import Glibc

/// libcurl as a whole.
enum CurlLibrary {
  /// Once a process; safe from any thread, in libcurl as well as in Swift.
  private static let status = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  static func start() throws(HTTPError) {
    guard status == CURLE_OK else { throw HTTPError(status, "curl_global_init") }
  }

  /// Whether the environment names proxies, by the variables that libcurl reads for each request unless it is told not to.
  static var hasProxies: Bool {
    let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    return names.contains { name in unsafe getenv(name) != nil }
  }
}
