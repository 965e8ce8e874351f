import FoundationEssentials
import HTTPTypes

/// Where a response sends a request, by RFC 9110.
enum Redirection {
  private static let host = HTTPField.Name("Host")

  /// Nil where the response is none to follow.
  static func location(of response: HTTPResponse) -> String? {
    [301, 302, 303, 307, 308].contains(response.status.code) ? response.headerFields[.location] : nil
  }

  /// Nil where there is no such place for a request.
  ///
  /// - Parameter isTrusted: whether another origin may have the credentials that are in the request.
  static func next(
    to location: String, after response: HTTPResponse, to request: HTTPRequest,
    isTrusted: (HTTPRequest) -> Bool = { _ in false }
  ) -> HTTPRequest? {
    guard let base = request.urlText.flatMap({ URL(string: $0) }),
      let url = URL(string: location, relativeTo: base)?.absoluteURL,
      var next = try? HTTPRequest(method(after: response.status, request.method), to: url)
    else { return nil }
    next.headerFields = request.headerFields
    if next.method != request.method {
      for name in [HTTPField.Name.contentType, .contentLength, .contentEncoding] { next.headerFields[name] = nil }
    }
    if !request.isSameOrigin(as: next) {
      if let host { next.headerFields[host] = nil }
      if !isTrusted(next) {
        for name in CredentialScope.fields { next.headerFields[name] = nil }
      }
    }
    return next
  }

  /// What a caller wants in the place of `next`. If he sends it to another origin, it goes without the credentials that were
  /// for the first one; those that he has added are sent.
  static func changed(_ next: HTTPRequest, to wanted: HTTPRequest) -> HTTPRequest {
    guard !next.isSameOrigin(as: wanted) else { return wanted }
    var request = wanted
    for name in CredentialScope.fields where request.headerFields[values: name] == next.headerFields[values: name] {
      request.headerFields[name] = nil
    }
    return request
  }

  /// 301 and 302 turn a POST into a GET, as every browser does; 303 all but HEAD.
  private static func method(after status: HTTPResponse.Status, _ method: HTTPRequest.Method) -> HTTPRequest.Method {
    switch status.code {
    case 301, 302: method == .post ? .get : method
    case 303: method == .head ? .head : .get
    default: method
    }
  }
}

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
