import CLibCurl

extension HTTPError {
  init(_ code: CURLcode, _ operation: String, message: String? = nil) {
    let words = message ?? (unsafe String(cString: curl_easy_strerror(code)))
    self.init(Self.kind(code), operation, code: CInt(code.rawValue), message: words)
  }

  init(_ code: CURLMcode, _ operation: String) {
    self.init(.other, operation, code: code.rawValue, message: unsafe String(cString: curl_multi_strerror(code)))
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
