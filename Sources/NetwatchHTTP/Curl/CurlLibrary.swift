import CLibCurl

/// libcurl as a whole.
enum CurlLibrary {
  /// Once a process; safe from any thread, in libcurl as well as in Swift.
  private static let status = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

  static func start() throws(HTTPError) {
    guard status == CURLE_OK else { throw HTTPError(status, "curl_global_init") }
  }
}
