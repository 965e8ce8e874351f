import FoundationEssentials
import HTTPTypes

extension HTTPRequest {
  /// The URL for libcurl: without a fragment, without a user and a password (see ``HTTPCredential``), and with an international
  /// name in ASCII. Nil if there is no valid URL.
  var urlText: String? {
    guard let scheme, let authority = authority.flatMap(Authority.init) else { return nil }
    let path = path ?? "/"
    var text = scheme
    text += "://"
    text += authority.text
    if path.utf8.first != UInt8(ascii: "/") { text += "/" }
    if let end = path.utf8.firstIndex(of: UInt8(ascii: "#")) { text += path[..<end] } else { text += path }
    return text
  }

  /// The method and the URL, for people: `GET https://example.org/users?…`. The query, the user and the password are left out,
  /// because they may hold secrets.
  var title: String {
    let host = authority?.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return "\(method.rawValue) \(scheme.map { "\($0)://" } ?? "")\(host)\(Self.publicPart(of: path ?? ""))"
  }

  /// Returns a path or a URL without a user, a password and a fragment. A query is replaced by `?…`.
  static func publicPart(of path: String) -> String {
    let end = path.firstIndex { $0 == "?" || $0 == "#" } ?? path.endIndex
    var text = String(path[..<end])
    if let slashes = text.firstRange(of: "//"), text[..<slashes.lowerBound].last ?? ":" == ":" {
      let host = text[slashes.upperBound...].prefix { $0 != "/" }
      if let at = host.lastIndex(of: "@") { text.removeSubrange(host.startIndex...at) }
    }
    return path[end...].hasPrefix("?") ? text + "?…" : text
  }

  /// Creates a request for a URL. A user and a password in the URL are left out: see ``HTTPCredential``.
  ///
  /// - Parameters:
  ///   - method: The method of the request, such as `.get`.
  ///   - url: An http or https URL.
  ///   - headerFields: The header fields of the request. Default: none.
  /// - Throws: `badURL` if the URL is not http or https, or has no valid host.
  public init(_ method: HTTPRequest.Method, to url: URL, headerFields: HTTPFields = [:]) throws(HTTPError) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.encodedHost.flatMap(Authority.ascii(host:))
    else {
      throw HTTPError(
        .badURL, "request to \(Self.publicPart(of: url.absoluteString))",
        message: "the scheme is not http or https, or the host is not valid")
    }
    var path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    if let query = parts.percentEncodedQuery { path += "?\(query)" }
    if let fragment = parts.percentEncodedFragment { path += "#\(fragment)" }
    let port = parts.port.map { ":\($0)" } ?? ""
    self.init(method: method, scheme: scheme, authority: host + port, path: path, headerFields: headerFields)
  }
}
