import FoundationEssentials
import HTTPTypes

extension HTTPRequest {
  /// For libcurl, which takes no fragment, no international name, and whose users and passwords are ``HTTPCredential``s.
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

  /// The method and the URL, for people: `GET https://example.org/users?…`. What may hold a secret is left out: the query, and a
  /// user with a password.
  var title: String {
    let host = authority?.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return "\(method.rawValue) \(scheme.map { "\($0)://" } ?? "")\(host)\(Self.publicPart(of: path ?? ""))"
  }

  /// A path or a URL up to its query, whose place a mark takes, and without a user and a password.
  static func publicPart(of path: String) -> String {
    let end = path.firstIndex { $0 == "?" || $0 == "#" } ?? path.endIndex
    var text = String(path[..<end])
    if let slashes = text.firstRange(of: "//"), text[..<slashes.lowerBound].last ?? ":" == ":" {
      let host = text[slashes.upperBound...].prefix { $0 != "/" }
      if let at = host.lastIndex(of: "@") { text.removeSubrange(host.startIndex...at) }
    }
    return path[end...].hasPrefix("?") ? text + "?…" : text
  }

  /// A user and a password in the URL are left out: see ``HTTPCredential``.
  ///
  /// - Throws: `badURL` for what is neither http nor https, or has no host.
  public init(_ method: HTTPRequest.Method, to url: URL, headerFields: HTTPFields = [:]) throws(HTTPError) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let host = parts.encodedHost.flatMap(Authority.ascii(host:))
    else {
      throw HTTPError(.badURL, "request to \(url)", message: "it is not http or https, or has no host that could be")
    }
    var path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
    if let query = parts.percentEncodedQuery { path += "?\(query)" }
    if let fragment = parts.percentEncodedFragment { path += "#\(fragment)" }
    let port = parts.port.map { ":\($0)" } ?? ""
    self.init(method: method, scheme: scheme, authority: host + port, path: path, headerFields: headerFields)
  }
}
