import CLibCurl
import HTTPTypes

/// The URL of a request in libcurl's form. The next request usually has the same URL, and can use the same object.
@safe final class CurlURL {
  let text: String
  /// The parts of the text, so that libcurl does not parse it for each request. Nil if libcurl has to: it refuses the text, or
  /// would lose a part of it.
  let parts: UnsafeMutableRawPointer?
  let isSecure: Bool
  /// The trust of the host; nil if the session refuses the host.
  let trust: HostTrust?
  private let scheme: String?
  private let authority: String?
  private let path: String?

  /// Returns nil if the request is not for http or https.
  init?(of request: HTTPRequest, _ trust: SessionTrust) {
    guard let text = request.urlText, let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http"
    else { return nil }
    self.text = text
    unsafe parts = Self.parse(text).map { unsafe UnsafeMutableRawPointer($0) }
    isSecure = scheme == "https"
    self.scheme = request.scheme
    authority = request.authority
    path = request.path
    self.trust = trust.trust(of: request)
  }

  /// The server, with its port.
  var server: Authority? {
    authority.flatMap(Authority.init).map { Authority($0.host, $0.port ?? (isSecure ? 443 : 80)) }
  }

  deinit { unsafe curl_url_cleanup(parts.map { OpaquePointer($0) }) }

  /// Returns the parts of a text. libcurl copies the parts for each request, and forgets the zone of an IPv6 address (7.88).
  private static func parse(_ text: String) -> OpaquePointer? {
    guard let parts = unsafe curl_url() else { return nil }
    var zone: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_set(parts, CURLUPART_URL, text, 0) == CURLUE_OK,
      unsafe curl_url_get(parts, CURLUPART_ZONEID, &zone, 0) == CURLUE_NO_ZONEID
    else {
      unsafe curl_free(zone)
      unsafe curl_url_cleanup(parts)
      return nil
    }
    return unsafe parts
  }

  func isOf(_ request: HTTPRequest) -> Bool {
    path == request.path && authority == request.authority && scheme == request.scheme
  }
}
