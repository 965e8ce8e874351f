import FoundationEssentials
import HTTPTypes
import Netwatch

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

extension URL {
  /// Creates a URL from a reference as people and servers write it: what a URL may not have is percent-encoded, and what is encoded
  /// already stays as it is (RFC 3986, section 2.4). Foundation would encode each `%` again as soon as it finds anything to encode.
  ///
  /// - Parameters:
  ///   - reference: The bytes of the reference. Other bytes than ASCII are encoded one by one; usually they are UTF-8.
  ///   - base: The URL that a relative reference belongs to. Default: nil.
  /// - Returns: Nil if this is not a URL.
  package init?(reference: some Sequence<UInt8>, relativeTo base: URL? = nil) {
    let bytes = Array(reference)
    let start = Self.pathStart(of: bytes)
    let rest = Array(bytes[start...]).percentEncoded { $1.isAlphanumeric || Self.marks.contains($1) }
    self.init(string: String(decoding: bytes[..<start] + rest, as: UTF8.self), relativeTo: base)
  }

  /// The marks that a path, a query and a fragment may have, apart from `%` and `#`.
  private static let marks = Set("-._~!$&'()*+,;=:@/?".utf8)

  /// Returns where the path of a reference begins, behind its scheme and its authority, if it has any.
  private static func pathStart(of bytes: [UInt8]) -> Int {
    var start = 0
    if let end = bytes.firstIndex(where: { ":/?#".utf8.contains($0) }), bytes[end] == UInt8(ascii: ":") {
      start = end + 1
    }
    guard bytes[start...].starts(with: "//".utf8) else { return start }
    return bytes[(start + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count
  }
}
