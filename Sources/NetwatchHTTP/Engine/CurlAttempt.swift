import CLibCurl
import HTTPTypes
import Netwatch

/// An attempt that libcurl makes.
///
/// When libcurl needs the addresses of a name, the attempt takes the handle back, has the name looked up, and gives libcurl the
/// handle again with the addresses. libcurl's own lookups would hold up the session's thread when a request is cancelled.
final class CurlAttempt: Attempt {
  /// The most lookups. After them, libcurl looks names up itself, because it does not accept the addresses that it is given.
  private static let mostLookups = 8
  /// The most cookies that are taken from the heads of one attempt, as in browsers.
  private static let mostCookies = 180

  private unowned let transfer: any AttemptDelegate
  private let curl: CurlMulti
  private let easy: CurlEasy
  private let request: HTTPRequest
  private let body: HTTPBody?
  private let credential: HTTPCredential?
  /// Whether the request may be sent twice.
  private let allowsRepetition: Bool
  private let began: Duration
  private let mostHeadBytes: Int
  private var reader: HeadReader
  /// The TLS of the connection whose end is that of the body. Nil if there is none, or if the body says where it ends.
  private var bodyEnd: Handshake?
  /// Whether such a body is whole although the connection has not ended in order.
  private let acceptsMissingCloseNotify: Bool
  /// The number of bytes of the body that have come, as they are sent.
  private var received: Int64 = 0
  /// Whether the handle was given back.
  private var isOver = false
  /// Whether the request was sent again because the server had not processed it.
  private var isRepeated = false

  let source: (any BodySource)?
  private(set) var isBegun = false
  private(set) var hasAnswer = false
  /// The number of bytes of the body that were sent.
  private var sent: Int64 = 0
  /// Whether libcurl has taken a part of the body, or its end.
  private var hasSupplied = false
  /// Whether the request was sent before libcurl got the handle again, for a name lookup. libcurl then counts from zero.
  private var wasSent = false
  private var hasLostAny = false
  /// The number of cookies that the server has set.
  private var takenCookies = 0
  /// The values of the request's own `Cookie` fields.
  private var ownCookies: [String] = []

  // MARK: Names

  /// The number of name lookups.
  private var lookups = 0
  /// Whether libcurl was about to look a name up.
  private var isLookupDue = false
  /// Whether libcurl makes the next lookup itself, because there is nothing to look up, or because libcurl cannot be given the
  /// addresses.
  private var isLeftToLibrary = false
  /// The host whose addresses are being looked up.
  private var host: Authority?
  /// The time from the beginning until libcurl has got the handle last.
  private var lookupDuration = Duration.zero

  /// - Parameters:
  ///   - request: The request of the chain, perhaps with fields of the cache.
  ///   - source: The bytes of the body; nil for none.
  /// - Throws: The error that leaves no handle.
  init(
    _ request: HTTPRequest, of chain: RequestChain, _ source: (any BodySource)?, _ plan: RequestPlan,
    by curl: CurlMulti, for transfer: any AttemptDelegate
  ) throws(HTTPError) {
    self.request = request
    body = chain.body
    self.source = source
    credential = chain.credential
    allowsRepetition = chain.allowsRepetition
    mostHeadBytes = plan.options.maximumHeadBytes
    reader = HeadReader(mostBytes: mostHeadBytes)
    acceptsMissingCloseNotify = plan.options.acceptsMissingCloseNotify && plan.kind != .download
    self.curl = curl
    self.transfer = transfer
    began = transfer.now
    easy = try curl.takeEasy()
  }

  deinit { releaseHandle() }

  // MARK: State

  var head: ResponseHead? { reader.head }
  var trailers: HTTPFields? { reader.trailers }
  var hasSent: Bool? { wasSent || easy.hasSent }
  var peers: [InternetAddress]? { easy.opened.map(\.peer.address) }
  var hasLostConnection: Bool { hasLostAny && easy.connection == nil }

  var metrics: HTTPMetrics { easy.metrics(after: lookupDuration) }

  private var hasBody: Bool { body.map { !$0.isEmpty } ?? false }

  // MARK: From the transfer

  func start() throws(HTTPError) {
    try setOptions()
    try curl.add(easy)
  }

  func pause() { easy.pause(true) }

  func proceed() {
    guard !easy.pause(false) else { return }
    curl.remove(easy)
    ended(CURLE_WRITE_ERROR)
  }

  func close() {
    guard !isOver else { return }
    if host != nil { transfer.dropLookup() }
    curl.remove(easy)
    releaseHandle()
  }

  private func releaseHandle() {
    if !isOver { curl.release(easy) }
    isOver = true
  }

  func loses(_ lost: [(socket: CInt, connection: Connection)]) -> InternetAddress? {
    if let own = easy.connection { return lost.contains { $0.connection.hasEnds(of: own) } ? own.peer : nil }
    // libcurl tries the server's next address if this one fails.
    if easy.opened.contains(where: { own in lost.contains { $0.socket == own.socket } }) { hasLostAny = true }
    return nil
  }

  // MARK: Names

  /// Has a name looked up after libcurl has ended for want of its addresses.
  ///
  /// - Returns: Whether the attempt goes on.
  private func lookUp(after code: CURLcode) -> Bool {
    isLookupDue = false
    guard code != CURLE_OK else { return false }
    lookups += 1
    if easy.hasSent, !easy.isRejected { wasSent = true }
    if let host = missingHost(code), !NameLookups.isKnown(host.host) {
      self.host = host
      transfer.lookUp(host)
    } else {
      letLibraryLookUp()
    }
    return true
  }

  /// The server, and its proxy if one may be used.
  private var hosts: [Authority] {
    guard let url = curl.url(of: request) else { return [] }
    return [url.server, curl.settings.proxies.proxy(isSecure: url.isSecure)].compactMap(\.self)
  }

  /// Returns the host whose address libcurl lacks. With a SOCKS proxy, the client may need the server's address after the
  /// address of the proxy.
  private func missingHost(_ code: CURLcode) -> Authority? {
    guard let url = curl.url(of: request) else { return nil }
    guard let proxy = curl.settings.proxies.proxy(isSecure: url.isSecure) else { return url.server }
    if code == CURLE_COULDNT_RESOLVE_PROXY { return proxy }
    guard easy.opened.isEmpty else { return url.server }
    guard code == CURLE_COULDNT_RESOLVE_HOST else { return proxy }
    // A server among the exceptions is reached without the proxy, so it comes second.
    return CurlLibrary.tellsProxyFromHost || lookups > 1 ? url.server : proxy
  }

  func lookedUp(_ answer: NameLookups.Answer) {
    guard let host = host.take(), !isOver else { return }
    switch answer {
    case .success(let addresses) where addresses.isEmpty: letLibraryLookUp()
    case .success(let addresses):
      transfer.uses(addresses, of: host)
      easy.repeatAttempt(with: addresses, of: host)
      giveLibrary()
    case .failure(let failure): transfer.ended(isComplete: false, failure)
    }
  }

  private func letLibraryLookUp() {
    isLeftToLibrary = true
    easy.repeatAttempt()
    giveLibrary()
  }

  private func giveLibrary() {
    lookupDuration = max(transfer.now - began, .zero)
    do throws(HTTPError) {
      if let refusal = easy.refusal { throw refusal }
      try curl.add(easy)
    } catch {
      return transfer.ended(isComplete: false, error)
    }
    transfer.hasMoved()
  }

  // MARK: Ends

  /// Sends the request again, once, if the server has left the connection without processing it (RFC 9113, section 8.7).
  ///
  /// - Returns: Whether the attempt goes on.
  private func sendAgain(after code: CURLcode) -> Bool {
    guard code == CURLE_HTTP2, !hasAnswer, !isRepeated, allowsRepetition || easy.isAbandoned,
      source?.rewind() ?? true
    else { return false }
    isRepeated = true
    reader = HeadReader(mostBytes: mostHeadBytes)
    (sent, hasSupplied, wasSent) = (0, false, false)
    transfer.sent(0)
    easy.repeatAttempt()
    giveLibrary()
    return true
  }

  /// Returns whether the whole response has come although libcurl has failed.
  private func hasWholeAnswer(after code: CURLcode) -> Bool {
    guard code == CURLE_HTTP2_STREAM, easy.hasLostAnswer, reader.head != nil else { return false }
    return reader.declaredLength.map { $0 == received } ?? true
  }

  /// The error of a body whose connection has ended without saying that nothing more comes. Nil if the body is whole.
  private var truncation: HTTPError? {
    guard let bodyEnd, !bodyEnd.hasEndedInOrder, !acceptsMissingCloseNotify else { return nil }
    return HTTPError(
      .connectionLost, "response", reason: .truncated,
      message: "the TLS connection has ended without close_notify, so a part of the body may be missing")
  }

  /// The error of a body that is shorter than its length, which libcurl does not compare: see ``CurlEasy/readToEndOfStream()``. Nil for
  /// any other body.
  private var shortage: HTTPError? {
    guard easy.readsToEnd, let head = reader.head, ![204, 304].contains(head.code), transfer.failure == nil,
      let declared = reader.declaredLength, received != declared
    else { return nil }
    return HTTPError(
      .connectionLost, "response", reason: .closed,
      message: "the server has ended the stream after \(received) of the \(declared) bytes of its body")
  }

  private func failure(_ code: CURLcode) -> HTTPError {
    if let failure = source?.failure { return failure }
    let isAbandoned = code == CURLE_HTTP2 && !hasAnswer && easy.isAbandoned
    if code == CURLE_HTTP2_STREAM, reader.head == nil, easy.hasLostAnswer {
      return HTTPError(
        code, "request", reason: .closed,
        message: "the server has answered before it had the whole request, and libcurl before 8.1.0 has lost the answer"
      )
    }
    let mayBeWhole = reader.head != nil && reader.declaredLength.map { $0 == received } ?? true
    return easy.failure(
      code, hasAnswer: hasAnswer, isAbandoned: isAbandoned, received: mayBeWhole ? received : nil,
      from: curl.settings.localEndpoint)
  }
}

extension CurlAttempt: CurlDelegate {
  func hasBegun() {
    // libcurl says so for each address of a name, and from a silent one nothing comes.
    guard !isBegun else { return }
    isBegun = true
    transfer.hasMoved()
  }

  func takesLookup() -> Bool {
    hasBegun()
    if isLeftToLibrary {
      isLeftToLibrary = false
      return false
    }
    guard lookups < Self.mostLookups, hosts.contains(where: { !NameLookups.isKnown($0.host) }) else { return false }
    isLookupDue = true
    return true
  }

  func maySend() -> Bool {
    isBegun = true
    transfer.hasMoved()
    guard allowsRepetition || maySendOnce() else { return false }
    if hasBody { curl.readToEndOfStream(easy) }
    setCookies()
    return true
  }

  /// Returns whether libcurl may send a request now that must not be sent twice. By itself, libcurl sends any request again if
  /// its reused connection ended before a response. The server may already have done what a POST asks for. It has not if it has
  /// got nothing of the body, or if it has reported so.
  private func maySendOnce() -> Bool {
    let isFirst = hasSent == false || hasAnswer || hasBody && !hasSupplied
    guard isFirst || easy.isRejected else {
      refuse(
        HTTPError(
          .connectionLost, "request",
          message: "the connection has ended before an answer, and a \(request.method.rawValue) is not sent twice"))
      return false
    }
    hasAnswer = false
    wasSent = false
    easy.listenForRejection()
    return true
  }

  func received(headLine line: UnsafeRawBufferPointer) -> Bool {
    transfer.hasMoved()
    hasAnswer = true
    let isUndecided = transfer.isUndecided
    if isUndecided, takenCookies < Self.mostCookies, let cookies = curl.sharedCookies,
      let text = unsafe HeadReader.cookie(line)
    {
      takenCookies += 1
      cookies.take(text, from: request)
    }
    if let flaw = unsafe isUndecided ? reader.append(line) : reader.append(trailer: line) {
      let kind = flaw.reason == .headTooLong ? HTTPError.Kind.responseTooLarge : .connectionLost
      refuse(HTTPError(kind, "response", reason: flaw.reason, message: flaw.message))
      return false
    }
    guard isUndecided, let head = reader.head else { return true }
    received = 0
    let hasNoBody = request.method == .head || [204, 304].contains(head.code)
    bodyEnd = reader.endsWithConnection && !hasNoBody ? easy.handshake : nil
    // libcurl may be able to answer a 401 or a 407 itself. Its body must not be seen then.
    let mayBeAnswered = [HTTPResponse.Status.unauthorized, .proxyAuthenticationRequired].contains(head.response.status)
    return mayBeAnswered || transfer.received(head)
  }

  func refuse(_ failure: HTTPError) { transfer.failure = failure }

  func received(body bytes: UnsafeRawBufferPointer) -> BodyAcceptance {
    if transfer.isUndecided, !transfer.received(reader.head) { return .refused }
    let acceptance = unsafe transfer.received(body: bytes)
    if acceptance == .taken { received += Int64(bytes.count) }
    return acceptance
  }

  func supply(_ room: UnsafeMutableRawBufferPointer) -> BodySupply {
    guard let source else { return .failed }
    if transfer.isSuspended { return .paused }
    let left = body?.length.map { Int(clamping: $0 - sent) } ?? room.count
    // More bytes would be the connection's next request for the server.
    if left == 0 { return .bytes(0) }
    let supply = unsafe source.supply(UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)))
    guard case .bytes(let count) = supply else { return supply }
    hasSupplied = true
    if count == 0 || count == left { curl.gotWholeBody() }
    if count > 0 {
      sent += Int64(count)
      transfer.sent(sent)
    } else if body?.length != nil {
      refuse(
        HTTPError(
          .cannotEncodeRequest, "send body", message: "it ends \(left) bytes before the length that was declared"))
      return .failed
    }
    return supply
  }

  func rewind() -> Bool {
    sent = 0
    transfer.sent(0)
    return source?.rewind() ?? false
  }

  func ended(_ code: CURLcode) {
    if transfer.failure == nil, isLookupDue && lookUp(after: code) || sendAgain(after: code) { return }
    let isWhole = code == CURLE_OK || hasWholeAnswer(after: code)
    let failure = transfer.failure == nil ? isWhole ? truncation ?? shortage : failure(code) : nil
    transfer.ended(isComplete: isWhole && failure == nil, failure)
  }
}

// MARK: - The request as options of libcurl

extension CurlAttempt {
  /// Returns the shape of the request. Nil if it has a body, a credential or its own cookies.
  private func shape(_ url: CurlURL) -> CurlEasy.Shape? {
    guard !hasBody, body?.contentType == nil, credential == nil, request.headerFields[.cookie] == nil
    else {
      return nil
    }
    return CurlEasy.Shape(
      method: request.method, isSecure: url.isSecure, choosesCoding: request.choosesCoding,
      trust: url.trust.map { ObjectIdentifier($0) })
  }

  /// - Throws: `badURL`, `serverCertificateUntrusted` for a host without a policy, or libcurl's error for an option.
  private func setOptions() throws(HTTPError) {
    let url = curl.url(of: request)
    guard let url, curl.allows(url) else { throw Self.refusal(of: request, url) }
    try checkTexts()
    let isNew = easy.prepare(self, shape: shape(url))
    easy.set(url)
    let headSize = setFields() + url.text.utf8.count
    if isNew { setShape(url) }
    easy.prepareSendBuffer(headSize: headSize, hasBody: hasBody)
    curl.forgetNames(by: easy)
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
    if hasBody, request.method == .head {
      throw HTTPError(.cannotEncodeRequest, "send the body", message: "a HEAD has no body; leave it out")
    }
    try HTTPFields.check(text: body?.contentType, "the content type of the body")
    if body?.contentEncoding != nil, request.headerFields.contains(.contentEncoding) {
      throw HTTPError(
        .cannotEncodeRequest, "compress the body",
        message: "the request has a Content-Encoding of its own; leave it out, because a compressed body sets it")
    }
    guard let credential else { return }
    guard credential.scheme != .negotiate || CurlLibrary.negotiates else {
      throw HTTPError(
        .badConfiguration, "authenticate",
        message: "this libcurl has no GSS-API; use a user and a password, or another libcurl")
    }
    try HTTPFields.check(text: credential.user, "the user of the credential")
    try HTTPFields.check(text: credential.password, "the password of the credential")
  }

  private func setShape(_ url: CurlURL) {
    curl.connect(easy)
    easy.set(CURLOPT_NOSIGNAL, 1)
    curl.settings.applyConnections(to: easy)
    easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    // The task has its own deadline.
    easy.set(CURLOPT_CONNECTTIMEOUT, 1_000_000)
    if let agent = curl.settings.userAgent { easy.set(CURLOPT_USERAGENT, agent) }
    setMethod()
    // Bodies are decoded here, because libcurl 7.88 accepts one without its end as complete, and 8.14 does not let a head
    // decide.
    easy.set(CURLOPT_HTTP_CONTENT_DECODING, 0)
    if curl.settings.acceptsCompressedResponses, !request.choosesCoding {
      easy.set(CURLOPT_ACCEPT_ENCODING, ContentCoding.accepted)
    }
    if let credential { set(credential) }
    curl.settings.applyVersion(to: easy, isSecure: url.isSecure)
    let proxy = curl.tlsProxy(isSecure: url.isSecure)
    if url.isSecure || proxy != nil {
      easy.prepareTLS(url, versions: curl.settings.tlsVersions, proxy: proxy)
    }
  }

  private func setMethod() {
    let method = request.method
    if let body, !body.isEmpty {
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
  private func setFields() -> Int {
    var size = 0
    var hasType = false
    var hasExpectation = false
    var isPart = false
    var hasAcceptEncoding = false
    for field in request.headerFields {
      let name = field.name.canonicalName
      size += name.utf8.count + field.value.utf8.count + 4
      switch name {
      case "cookie":
        ownCookies.append(field.value)
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
    if !hasType {
      if let type = body?.contentType {
        easy.addHeader("Content-Type: \(type)")
      } else if !hasBody, Self.mostHaveBody(request.method) {
        easy.addHeader("Content-Type:")
      }
    }
    if let coding = body?.contentEncoding { easy.addHeader("Content-Encoding: \(coding)") }
    // A server that does not support it would delay each larger upload by a second.
    if hasBody, !hasExpectation { easy.addHeader("Expect:") }
    easy.useHeaders()
    return size
  }

  /// Sets the cookies of the session and those of the request. To be called each time before the request is sent: an answer to an
  /// earlier one may have changed the session's.
  private func setCookies() {
    let cookies = curl.sharedCookies?.header(for: request)
    guard !ownCookies.isEmpty else { return easy.set(cookies: cookies) }
    easy.set(cookies: ([cookies].compactMap(\.self) + ownCookies).joined(separator: "; "))
  }

  private func set(_ credential: HTTPCredential) {
    easy.set(CURLOPT_USERNAME, credential.user)
    easy.set(CURLOPT_PASSWORD, credential.password)
    easy.set(CURLOPT_HTTPAUTH, credential.scheme.curlMethods)
  }
}

extension HTTPRequest {
  /// Whether the request itself decides how its response may be encoded. A part is requested without encoding, because a part of a
  /// compressed body cannot be decompressed.
  var choosesCoding: Bool { headerFields.contains(.acceptEncoding) || headerFields.contains(.range) }
}
