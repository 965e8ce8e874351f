import CLibCurl
import NetwatchLibC

/// The proxies of a session: the one that it was given, or those that the environment names. libcurl would read the same
/// variables for each request.
struct CurlProxies {
  private let server: HTTPProxy.Server?
  /// Whether libcurl uses the proxies of the environment.
  private let usesEnvironment: Bool
  /// The proxy for requests without TLS. Nil if there is none, or if its URL is not valid.
  private let http: Authority?
  private let https: Authority?
  /// Whether a proxy may use TLS.
  let maySpeakTLS: Bool

  /// Reads the proxies from the environment, which no other thread may change meanwhile.
  ///
  /// - Parameter variable: Returns the value of an environment variable; nil if it is not set.
  init(_ variable: (String) -> String? = String.init(environment:)) {
    func text(_ names: String...) -> String? {
      names.lazy.compactMap(variable).first { !$0.isEmpty }
    }
    let all = text("all_proxy", "ALL_PROXY")
    // HTTP_PROXY is not read, because a server sets it from a field of the request for the programs that it runs.
    let (http, https) = (text("http_proxy") ?? all, text("https_proxy", "HTTPS_PROXY") ?? all)
    server = nil
    usesEnvironment = http != nil || https != nil
    maySpeakTLS = [http, https].contains { $0?.lowercased().hasPrefix("https:") ?? false }
    self.http = http.flatMap(Self.authority)
    self.https = https.flatMap(Self.authority)
  }

  /// - Throws: `badConfiguration`.
  init(_ proxy: HTTPProxy) throws(HTTPError) {
    switch proxy.choice {
    case .environment: self.init()
    case .direct: self.init(nil, nil)
    case .server(let server): self.init(server, try server.authority())
    }
  }

  private init(_ server: HTTPProxy.Server?, _ authority: Authority?) {
    self.server = server
    usesEnvironment = false
    maySpeakTLS = server?.scheme == .https
    http = authority
    https = authority
  }

  /// Returns the proxy of a request, unless the request is an exception.
  func proxy(isSecure: Bool) -> Authority? { isSecure ? https : http }

  func apply(to easy: CurlEasy) {
    if usesEnvironment { return }
    guard let server, let http else {
      easy.set(CURLOPT_PROXY, "")
      easy.set(CURLOPT_NOPROXY, "")
      return
    }
    easy.set(CURLOPT_PROXY, "\(server.scheme.rawValue)://\(http.text)")
    easy.set(CURLOPT_NOPROXY, server.exceptions.joined(separator: ","))
    guard let credential = server.credential else { return }
    easy.set(CURLOPT_PROXYUSERNAME, credential.user)
    easy.set(CURLOPT_PROXYPASSWORD, credential.password)
    easy.set(CURLOPT_PROXYAUTH, credential.scheme.curlMethods)
  }

  /// Returns the host and the port of a proxy's URL. If it has no port, libcurl's default port for proxies is used.
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

extension HTTPCredential.Scheme {
  /// The methods of the scheme, as in CURLAUTH_*.
  var curlMethods: Int {
    switch self {
    case .basic: Int(netwatch_curl_auth_basic)
    case .digest: Int(netwatch_curl_auth_digest)
    case .any: Int(netwatch_curl_auth_basic | netwatch_curl_auth_digest)
    case .negotiate: Int(netwatch_curl_auth_negotiate)
    }
  }
}
