import CLibCurl
import Glibc

/// The proxies that the environment names, by the variables that libcurl reads for each request unless it is told not to.
struct CurlProxies {
  /// Whether there is any.
  let isEmpty: Bool
  /// Nil also for what is no proxy's URL.
  private let http: Authority?
  private let https: Authority?

  /// Reads the environment, which nobody may be changing meanwhile.
  init() {
    func text(_ names: String...) -> String? {
      names.lazy.compactMap(String.init(environment:)).first { !$0.isEmpty }
    }
    let all = text("all_proxy", "ALL_PROXY")
    // Not HTTP_PROXY: a server sets it for the programs that it runs, from a field of the request.
    let (http, https) = (text("http_proxy") ?? all, text("https_proxy", "HTTPS_PROXY") ?? all)
    isEmpty = http == nil && https == nil
    self.http = http.flatMap(Self.authority)
    self.https = https.flatMap(Self.authority)
  }

  /// The proxy of a request, unless `no_proxy` says that it has none.
  func proxy(isSecure: Bool) -> Authority? { isSecure ? https : http }

  /// With libcurl's port for proxies that name none.
  private static func authority(of text: String) -> Authority? {
    guard let url = unsafe curl_url() else { return nil }
    defer { unsafe curl_url_cleanup(url) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
    guard unsafe curl_url_set(url, CURLUPART_URL, text, flags) == CURLUE_OK else { return nil }
    func part(_ part: CURLUPart) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard unsafe curl_url_get(url, part, &value, 0) == CURLUE_OK, let value = unsafe value else { return nil }
      defer { unsafe curl_free(value) }
      return unsafe String(cString: value)
    }
    guard let host = part(CURLUPART_HOST) else { return nil }
    return Authority("\(host):\(part(CURLUPART_PORT) ?? (part(CURLUPART_SCHEME) == "https" ? "443" : "1080"))")
  }
}
