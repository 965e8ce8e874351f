import CLibCurl
import HTTPTypes

/// Where a request goes, in libcurl's words. The next request most often goes to the same place, and asks for no other.
@safe final class CurlURL {
  let text: String
  /// What libcurl makes of the text, so that it does not read it again for each request. Nil if it has to: it refuses the
  /// text, or it would lose a part of it.
  let parts: UnsafeMutableRawPointer?
  let isSecure: Bool
  /// Nil if the session refuses the host.
  let trust: HostTrust?
  private let scheme: String?
  private let authority: String?
  private let path: String?

  /// Nil where it is no place for HTTP.
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

  /// With its port.
  var server: Authority? {
    authority.flatMap(Authority.init).map { Authority($0.host, $0.port ?? (isSecure ? 443 : 80)) }
  }

  deinit { unsafe curl_url_cleanup(parts.map { OpaquePointer($0) }) }

  /// libcurl copies the parts for each request, and forgets the zone of an IPv6 address (7.88).
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
