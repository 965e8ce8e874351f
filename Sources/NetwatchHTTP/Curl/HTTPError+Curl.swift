import CLibCurl
import NetwatchLibC

extension HTTPError {
  /// - Parameters:
  ///   - message: libcurl's message. Nil for its words for the code.
  ///   - reason: The reason, if it is known better than from the code and the message.
  init(_ code: CURLcode, _ operation: String, reason: Reason? = nil, message: String? = nil) {
    let words = message ?? (unsafe String(cString: curl_easy_strerror(code)))
    let kind = Self.kind(code)
    self.init(
      kind, operation, code: CInt(code.rawValue), domain: .libcurl,
      reason: reason ?? (kind == .connectionLost ? Self.reason(code, words) : nil), message: words)
  }

  init(_ code: CURLMcode, _ operation: String) {
    self.init(
      .other, operation, code: code.rawValue, domain: .libcurlMulti,
      message: unsafe String(cString: curl_multi_strerror(code)))
  }

  /// Returns the reason why a connection was lost.
  private static func reason(_ code: CURLcode, _ message: String) -> Reason? {
    switch code {
    case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL: return .notHTTP
    case CURLE_HTTP2: return .badFraming
    // RST_STREAM, or a stream that has ended before its response.
    case CURLE_HTTP2_STREAM: return message.contains("not closed cleanly: ") ? .reset : .closed
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: return .closed
    default: break
    }
    // libcurl gives a code of its own to none of these, only its words.
    if message.contains("hexadecimal") || message.contains("hunk") { return .badFraming }
    let resets = [ECONNRESET, EPIPE, ECONNABORTED].map { unsafe String(cString: strerror($0)) }
    if resets.contains(where: { message.contains($0) }) { return .reset }
    return message.contains("unexpected eof") ? .closed : nil
  }

  private static func kind(_ code: CURLcode) -> Kind {
    switch code {
    case CURLE_OPERATION_TIMEDOUT: .timedOut
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .notResolved
    case CURLE_COULDNT_CONNECT, CURLE_PROXY, CURLE_INTERFACE_FAILED: .cannotConnect
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
      .connectionLost
    case CURLE_BAD_CONTENT_ENCODING: .cannotDecodeContentData
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED: .secureConnectionFailed
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS:
      .serverCertificateUntrusted
    case CURLE_SSL_CLIENTCERT: .clientCertificateRequired
    case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM: .badSecurityPolicy
    case CURLE_URL_MALFORMAT: .badURL
    case CURLE_READ_ERROR, CURLE_SEND_FAIL_REWIND: .cannotEncodeRequest
    default: .other
    }
  }
}
