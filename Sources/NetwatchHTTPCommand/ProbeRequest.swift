import CLibCurl
import Netwatch

/// One GET of libcurl's: no redirect is followed, no cookie kept, no proxy asked, and of the body no more read than matters.
@safe final class ProbeRequest {
  /// What a probe has found, and why, for people.
  typealias Finding = (access: InternetAccess, words: String)

  /// More than the text beside any redirect, in bytes.
  private static let longestRedirect = 65_536

  private let handle: UnsafeMutableRawPointer
  private let url: String
  private var answer: ProbeAnswer
  /// What has come of a body that is of no use.
  private var redirectedBytes = 0
  /// Where the login page is, once the request was performed and one has answered: where it redirects to, or what was asked. Nil if
  /// there is none, or if the address is none that can be opened.
  private(set) var portal: PortalURL?
  /// The first option that libcurl has refused.
  private var refusal: CURLcode?
  private let words: UnsafeMutablePointer<CChar>
  private var headers: UnsafeMutablePointer<curl_slist>?

  /// - Parameter expected: what the body of the answer has to begin with; nil where there is to be none.
  init(_ url: String, expecting expected: String?) throws {
    guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let handle = unsafe curl_easy_init() else {
      throw PlainError("libcurl does not start")
    }
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
  ///   - timeout: in seconds.
  ///   - interface: the link to go out over; nil for any.
  func set(timeout: Double, userAgent: String, interface: String?) {
    set(CURLOPT_TIMEOUT_MS, Int(max(1, min(timeout * 1_000, 1e9))))
    set(CURLOPT_NOSIGNAL, 1)
    // The time counts for the name, too: libcurl would wait for who looks it up. Older ones do not know this option.
    _ = unsafe netwatch_curl_set_long(handle, CURLOPT_QUICK_EXIT, 1)
    set(CURLOPT_USERAGENT, userAgent)
    // "if!": never a host of this name.
    if let interface { set(CURLOPT_INTERFACE, "if!\(interface)") }
    set(CURLOPT_PROTOCOLS_STR, "http,https")
    set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    // Whether a proxy of the environment answers says nothing of the path.
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
  }

  private func set(_ option: CURLoption, _ value: Int) { check(unsafe netwatch_curl_set_long(handle, option, value)) }
  private func set(_ option: CURLoption, _ value: String) {
    check(unsafe netwatch_curl_set_string(handle, option, value))
  }
  private func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) {
    check(unsafe netwatch_curl_set_pointer(handle, option, value))
  }
  private func check(_ code: CURLcode) { if code != CURLE_OK { refusal = refusal ?? code } }

  /// - Throws: where nothing could be asked.
  func perform() throws -> Finding {
    if let refusal { throw failure(refusal) }
    let code = unsafe curl_easy_perform(handle)
    readStatus()
    let finding = try finding(code)
    // A page that answers with another server's certificate is not one to send people to.
    if finding.access == .portal, answer.status != nil { portal = PortalURL(redirection ?? url) }
    return finding
  }

  /// Absolute, wherever the answer's Location leads; nil if it has none.
  private var redirection: String? {
    unsafe netwatch_curl_get_string(handle, CURLINFO_REDIRECT_URL).map { unsafe String(cString: $0) }
  }

  /// - Returns: false where the rest does not matter.
  private func receive(_ body: UnsafeRawBufferPointer) -> Bool {
    readStatus()
    unsafe answer.append(body: body)
    // libcurl says where a redirect leads at its end alone.
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
    case CURLE_URL_MALFORMAT, CURLE_FAILED_INIT, CURLE_OUT_OF_MEMORY: throw failure(code)
    // Somebody else's certificate, or no TLS at all.
    case CURLE_PEER_FAILED_VERIFICATION: return finding(.portal, code)
    case CURLE_SSL_CONNECT_ERROR: return finding(isAnsweredWithoutTLS ? .portal : .absent, code)
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT, CURLE_OPERATION_TIMEDOUT, CURLE_GOT_NOTHING,
      CURLE_RECV_ERROR, CURLE_SEND_ERROR:
      return finding(.absent, code)
    default: return finding(.unknown, code)
    }
  }

  /// OpenSSL names an error of its own where it has read what is no TLS. A connection that is cut is no answer.
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
