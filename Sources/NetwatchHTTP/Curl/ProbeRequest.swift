import CLibCurl
import Netwatch

/// One GET request with libcurl. It follows no redirect, keeps no cookie, uses no proxy, and reads only the part of the body
/// that matters.
@safe package final class ProbeRequest {
  /// The result of a probe, and the reason in words for people.
  package typealias Finding = (access: InternetAccess, words: String)

  /// The most bytes that are read of a redirect's body, more than the text of any redirect has.
  private static let longestRedirect = 65_536

  private let handle: UnsafeMutableRawPointer
  private let url: String
  private var answer: ProbeAnswer
  /// The number of bytes of a body that is not used.
  private var redirectedBytes = 0
  /// The address of the login page, once the request was performed and a captive portal has answered: the target of its
  /// redirect, or the URL of the probe. Nil if there is none, or if the address cannot be opened.
  package private(set) var portal: PortalURL?
  /// Whether the answer is not needed any more. It is called in the thread of ``perform()``, at least once a second.
  package var isCancelled: () -> Bool = { false }
  /// The error of the first option that libcurl has refused.
  private var refusal: CURLcode?
  private let words: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?

  /// - Parameter expected: The text with which the body of the response has to begin; nil if there must be no body.
  package init(_ url: String, expecting expected: String?) throws {
    try CurlLibrary.start()
    guard let handle = unsafe curl_easy_init() else { throw PlainError("libcurl does not start") }
    unsafe self.handle = handle
    self.url = url
    answer = ProbeAnswer(expecting: expected.map { Array($0.utf8) })
    unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    set(CURLOPT_URL, url)
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    unsafe words.deallocate()
    unsafe curl_slist_free_all(headers)
  }

  /// - Parameters:
  ///   - timeout: The time limit in seconds.
  ///   - interface: The interface from which the request leaves; nil for any.
  package func set(timeout: Double, userAgent: String, interface: String?) {
    set(CURLOPT_TIMEOUT_MS, Int(max(1, min(timeout * 1_000, 1e9))))
    set(CURLOPT_NOSIGNAL, 1)
    // The time also counts for the lookup of the name, although libcurl would wait for the thread that looks it up. Older
    // versions do not know this option.
    _ = unsafe netwatch_curl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_USERAGENT, userAgent)
    // "if!" makes libcurl take the text for an interface, never for a host.
    if let interface { set(CURLOPT_INTERFACE, "if!\(interface)") }
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // A response from a proxy of the environment would not show whether the internet is reachable.
    set(CURLOPT_PROXY, "")
    for header in ["Cache-Control: no-cache", "Connection: close"] {
      unsafe headers = curl_slist_append(headers, header)
    }
    unsafe set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(headers))
    unsafe set(CURLOPT_ERRORBUFFER, words)
    unsafe set(CURLOPT_WRITEDATA, Unmanaged.passUnretained(self).toOpaque())
    check(
      unsafe netwatch_curl_set_data_callback(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, pointer in
        guard let pointer = unsafe pointer else { return 0 }
        let request = unsafe Unmanaged<ProbeRequest>.fromOpaque(pointer).takeUnretainedValue()
        return unsafe request.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      })
    set(CURLOPT_NOPROGRESS, 0)
    unsafe set(CURLOPT_XFERINFODATA, Unmanaged.passUnretained(self).toOpaque())
    check(
      unsafe netwatch_curl_set_progress_callback(handle) { pointer, _, _, _, _ in
        guard let pointer = unsafe pointer else { return 0 }
        return unsafe Unmanaged<ProbeRequest>.fromOpaque(pointer).takeUnretainedValue().isCancelled() ? 1 : 0
      })
  }

  private func set(_ option: CURLoption, _ value: Int) { check(unsafe netwatch_curl_set_long(handle, option, value)) }
  private func set(_ option: CURLoption, _ value: String) {
    check(unsafe netwatch_curl_set_string(handle, option, value))
  }
  private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    check(unsafe netwatch_curl_set_pointer(handle, option, value))
  }
  private func check(_ code: CURLcode) { if code != CURLE_OK { refusal = refusal ?? code } }

  /// Performs the request.
  ///
  /// - Throws: A `PlainError` with the text of libcurl if nothing could be requested.
  package func perform() throws -> Finding {
    if let refusal { throw failure(refusal) }
    let code = unsafe curl_easy_perform(handle)
    readStatus()
    let finding = try finding(code)
    // A page with the certificate of another server is not safe to open.
    if finding.access == .portal, answer.status != nil { portal = PortalURL(redirection ?? url) }
    return finding
  }

  /// The absolute URL to which the response's Location leads; nil if it has none.
  private var redirection: String? {
    unsafe netwatch_curl_get_string(handle, CURLINFO_REDIRECT_URL).map { unsafe String(cString: $0) }
  }

  /// - Returns: False if the rest of the body does not matter.
  private func receive(_ body: UnsafeRawBufferPointer) -> Bool {
    readStatus()
    unsafe answer.append(body: body)
    // libcurl reports the target of a redirect only at the end of the response.
    redirectedBytes += answer.isRedirect ? body.count : 0
    return answer.access == nil || answer.isRedirect && redirectedBytes <= Self.longestRedirect
  }

  private func readStatus() {
    var status = 0
    unsafe netwatch_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
    if status > 0 { answer.status = status }
  }

  private func finding(_ code: CURLcode) throws -> Finding {
    if code == CURLE_OK { answer.end() }
    if let status = answer.status { return (answer.access ?? .unknown, "status \(status)") }
    switch code {
    // libcurl before 8.6.0 reports a status line of more than 100 KiB like this.
    case CURLE_OUT_OF_MEMORY where hasSent: return (.unknown, "a line of more than 100 KiB, or too little memory")
    case CURLE_URL_MALFORMAT, CURLE_FAILED_INIT, CURLE_OUT_OF_MEMORY: throw failure(code)
    // The certificate is that of another server, or the server does not use TLS.
    case CURLE_PEER_FAILED_VERIFICATION: return finding(.portal, code)
    case CURLE_SSL_CONNECT_ERROR: return finding(isAnsweredWithoutTLS ? .portal : .absent, code)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_GOT_NOTHING,
      CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      return finding(.absent, code)
    default: return finding(.unknown, code)
    }
  }

  /// Whether a part of the request was written to a connection.
  private var hasSent: Bool {
    var size = 0
    unsafe netwatch_curl_get_long(handle, CURLINFO_REQUEST_SIZE, &size)
    return size > 0
  }

  /// Whether the server has answered without TLS. OpenSSL then reports an error of its own. A connection that was cut is not an
  /// answer.
  private var isAnsweredWithoutTLS: Bool {
    let said = unsafe String(cString: words)
    return said.contains("SSL routines") && !said.contains("unexpected eof")
  }

  private func finding(_ access: InternetAccess, _ code: CURLcode) -> Finding {
    (access, failure(code).description)
  }

  private func failure(_ code: CURLcode) -> PlainError {
    let said = unsafe String(cString: words)
    return PlainError(said.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : said)
  }
}
