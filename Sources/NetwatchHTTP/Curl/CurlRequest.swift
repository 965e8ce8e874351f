import CLibCurl
import HTTPTypes

/// A request in the form of libcurl's options.
struct CurlRequest {
  let request: HTTPRequest
  let body: HTTPBody?
  let credential: HTTPCredential?

  /// Returns the shape of the request. Nil if it has a body, a credential or its own cookies.
  private func shape(_ url: CurlURL) -> CurlEasy.Shape? {
    guard hasNoBody, body?.contentType == nil, credential == nil, request.headerFields[.cookie] == nil
    else {
      return nil
    }
    return CurlEasy.Shape(
      method: request.method, isSecure: url.isSecure, choosesCoding: Self.choosesCoding(request),
      trust: url.trust.map { ObjectIdentifier($0) })
  }

  /// Whether the request has no body. A body of unknown length counts as one.
  private var hasNoBody: Bool { body.map { $0.length == 0 } ?? true }

  /// Returns whether the request itself decides how its response may be encoded. A part is requested without encoding, because
  /// a part of a compressed body cannot be decompressed.
  static func choosesCoding(_ request: HTTPRequest) -> Bool {
    request.headerFields.contains(.acceptEncoding) || request.headerFields.contains(.range)
  }

  /// - Throws: `badURL`, `serverCertificateUntrusted` for a host without a policy, or libcurl's error for an option.
  func apply(
    to easy: CurlEasy, of multi: CurlMulti, for delegate: any CurlDelegate
  ) throws(HTTPError) {
    let url = multi.url(of: request)
    guard let url, multi.allows(url) else { throw Self.refusal(of: request, url) }
    try checkTexts()
    let isNew = easy.prepare(delegate, shape: shape(url))
    easy.set(url)
    let headSize = applyFields(to: easy) + url.text.utf8.count
    if isNew { applyShape(url, to: easy, of: multi) }
    easy.prepareSendBuffer(headSize: headSize, hasBody: !hasNoBody)
    multi.forgetNames(by: easy)
    if let refusal = easy.refusal { throw refusal }
  }

  private static func refusal(of request: HTTPRequest, _ url: CurlURL?) -> HTTPError {
    if let url, url.trust == nil, let host = url.server?.host {
      let message = "\(host) has no policy in hostPolicies, and the session refuses such hosts"
      return HTTPError(TLSFailure(.noPolicyForHost, host: host, message), "request")
    }
    return HTTPError(.badURL, "request", message: "\(request.scheme ?? "")://\(request.authority ?? "")")
  }

  /// Checks the texts that are not an `HTTPField`, but also go into the head.
  private func checkTexts() throws(HTTPError) {
    // libcurl would wait for a body of the response (7.88).
    if let body, body.length != 0, request.method == .head {
      throw HTTPError(.cannotEncodeRequest, "send the body", message: "a HEAD has no body; leave it out")
    }
    try HTTPFields.check(text: body?.contentType, "the content type of the body")
    if body?.contentEncoding != nil, request.headerFields.contains(.contentEncoding) {
      throw HTTPError(
        .cannotEncodeRequest, "compress the body",
        message: "the request has a Content-Encoding of its own; leave it out, because a compressed body sets it")
    }
    guard let credential else { return }
    try HTTPFields.check(text: credential.user, "the user of the credential")
    try HTTPFields.check(text: credential.password, "the password of the credential")
  }

  private func applyShape(_ url: CurlURL, to easy: CurlEasy, of multi: CurlMulti) {
    multi.connect(easy)
    easy.set(CURLOPT_NOSIGNAL, 1)
    multi.settings.applyConnections(to: easy)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // The task has its own deadline.
    easy.set(CURLOPT_CONNECTTIMEOUT, 1_000_000)
    if let agent = multi.settings.userAgent { easy.set(CURLOPT_USERAGENT, agent) }
    applyMethod(to: easy)
    // Bodies are decoded here, because libcurl 7.88 accepts one without its end as complete, and 8.14 does not let a head
    // decide.
    easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    if multi.settings.acceptsCompressedResponses, !Self.choosesCoding(request) {
      easy.set(CURLOPT_ACCEPT_ENCODING, ContentCoding.accepted)
    }
    if let credential { apply(credential, to: easy) }
    if let cookies = multi.sharedCookies { easy.share(cookies) }
    multi.settings.applyVersion(to: easy, isSecure: url.isSecure)
    let proxy = multi.tlsProxy(isSecure: url.isSecure)
    if url.isSecure || proxy != nil {
      easy.prepareTLS(url, versions: multi.settings.tlsVersions, proxy: proxy)
    }
  }

  private func applyMethod(to easy: CurlEasy) {
    let method = request.method
    if let body, body.length != 0 {
      easy.prepareBody()
      easy.set(CURLOPT_UPLOAD, 1)
      easy.set(CURLOPT_INFILESIZE_LARGE, offset: body.length ?? -1)
      if method != .put { easy.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
    } else if method == .head {
      easy.set(CURLOPT_NOBODY, 1)
    } else if Self.mostHaveBody(method) {
      // Sends a length of 0.
      easy.set(CURLOPT_POST, 1)
      easy.set(CURLOPT_POSTFIELDSIZE, 0)
      easy.set(CURLOPT_POSTFIELDS, "")
      if method != .post { easy.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
    } else if method != .get {
      easy.set(CURLOPT_CUSTOMREQUEST, method.rawValue)
    }
  }

  /// Returns whether requests with this method usually have a body, so that one without a body declares it.
  private static func mostHaveBody(_ method: HTTPRequest.Method) -> Bool {
    method == .post || method == .put || method == .patch
  }

  /// - Returns: The bytes of the fields.
  private func applyFields(to easy: CurlEasy) -> Int {
    var size = 0
    var hasType = false
    var hasExpectation = false
    var isPart = false
    var hasAcceptEncoding = false
    var cookies = ""
    for field in request.headerFields {
      let name = field.name.canonicalName
      size += name.utf8.count + field.value.utf8.count + 4
      switch name {
      case "cookie":
        cookies += cookies.isEmpty ? field.value : "; \(field.value)"
        continue
      // The length of the body is only known from the body.
      case "content-length", "transfer-encoding": continue
      case "content-type": hasType = true
      case "expect": hasExpectation = true
      case "range": isPart = true
      case "accept-encoding": hasAcceptEncoding = true
      default: break
      }
      // libcurl would take a header without a value for one to be left out.
      easy.addHeader(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
    }
    if isPart, !hasAcceptEncoding { easy.addHeader("Accept-Encoding: identity") }
    if !cookies.isEmpty { easy.set(CURLOPT_COOKIE, cookies) }
    if !hasType {
      if let type = body?.contentType {
        easy.addHeader("Content-Type: \(type)")
      } else if hasNoBody, Self.mostHaveBody(request.method) {
        easy.addHeader("Content-Type:")
      }
    }
    if let coding = body?.contentEncoding { easy.addHeader("Content-Encoding: \(coding)") }
    // A server that does not support it would delay each larger upload by a second.
    if let body, body.length != 0, !hasExpectation { easy.addHeader("Expect:") }
    easy.useHeaders()
    return size
  }

  private func apply(_ credential: HTTPCredential, to easy: CurlEasy) {
    easy.set(CURLOPT_USERNAME, credential.user)
    easy.set(CURLOPT_PASSWORD, credential.password)
    easy.set(CURLOPT_HTTPAUTH, credential.scheme.curlMethods)
  }
}
