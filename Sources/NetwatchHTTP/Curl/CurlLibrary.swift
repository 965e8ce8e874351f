import CLibCurl
import CLibOpenSSL

/// libcurl as a whole.
enum CurlLibrary {
  /// The result of starting libcurl, once in a process. Safe from any thread, in libcurl as well as in Swift.
  private static let status =
    CertificateHandle.libraryIsStarted ? curl_global_init(Int(CURL_GLOBAL_DEFAULT)) : CURLE_FAILED_INIT

  static func start() throws(HTTPError) {
    guard status == CURLE_OK else { throw HTTPError(status, "curl_global_init") }
  }

  /// The folder of certificates that libcurl was built to trust, in addition to its bundle; nil if there is none.
  private static let certificateFolder = unsafe netwatch_curl_certificate_folder().map { unsafe String(cString: $0) }

  /// Makes a context load certificates from the folder that its bundle lacks, each when it is needed. A second call does no
  /// harm.
  static func addCertificateFolder(to context: OpaquePointer) {
    guard let folder = certificateFolder, let store = unsafe SSL_CTX_get_cert_store(context),
      let lookup = unsafe X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir())
    else { return }
    unsafe X509_LOOKUP_ctrl(lookup, CInt(X509_L_ADD_DIR), folder, Int(X509_FILETYPE_PEM), nil)
  }

  /// Makes a context trust what libcurl trusts by default: its bundle, which is parsed at once, and its folder.
  static func addSystemRoots(to context: OpaquePointer) {
    if let file = unsafe netwatch_curl_certificate_file(), let store = unsafe SSL_CTX_get_cert_store(context) {
      unsafe X509_STORE_load_file(store, file)
      ERR_clear_error()
    }
    unsafe addCertificateFolder(to: context)
  }

  /// Returns whether a message says that a server has rejected a request over HTTP/2.
  static func isRejection(_ message: UnsafeRawBufferPointer) -> Bool {
    let (start, middle) = ("HTTP/2 stream ", " refused by server")
    guard unsafe message.starts(with: start.utf8) else { return false }
    let rest = unsafe message.dropFirst(start.utf8.count).drop { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return unsafe rest.starts(with: middle.utf8)
  }

  /// Returns the stream that a message says is that of the request: `Using Stream ID: 3`. Nil for another message.
  static func streamID(_ message: UnsafeRawBufferPointer) -> UInt32? {
    let start = "Using Stream ID: ".utf8
    return unsafe message.starts(with: start) ? number(message.dropFirst(start.count)) : nil
  }

  /// Returns the last stream of a GOAWAY that a message tells of: `… GOAWAY, error=0, last_stream=1`. Nil for another message.
  static func lastStream(_ message: UnsafeRawBufferPointer) -> UInt32? {
    guard message.count < 100 else { return nil }
    let text = unsafe String(decoding: message, as: UTF8.self)
    guard text.contains(" GOAWAY, error="), let mark = text.firstRange(of: "last_stream=") else { return nil }
    return UInt32(text[mark.upperBound...].prefix(while: \.isNumber))
  }

  private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> UInt32? {
    let digits = unsafe text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    return unsafe UInt32(String(decoding: digits, as: UTF8.self))
  }

  /// Whether libcurl supports TLS with proxies.
  static let reachesProxiesByTLS = netwatch_curl_features() & CURL_VERSION_HTTPS_PROXY != 0
  /// Whether libcurl can reuse a connection with HTTP/2 without TLS. Before 8.0.0, such a request fails (curl/curl#10634).
  static let reusesPlainHTTP2 = version >= 0x08_0000
  /// Whether libcurl can authenticate by Kerberos.
  static let negotiates = netwatch_curl_features() & (CURL_VERSION_GSSAPI | CURL_VERSION_SPNEGO) != 0
  /// Whether libcurl supports HTTP/2.
  static let speaksHTTP2 = netwatch_curl_features() & CURL_VERSION_HTTP2 != 0
  /// Whether libcurl reports whose address it lacks, that of the proxy or that of the server. Since 8.13.0 it reports both alike.
  static let tellsProxyFromHost = version < 0x08_0d00
  /// Whether libcurl has a message for each end of an HTTP/2 connection but that of a rejected request. 8.1 to 8.5 have none for a
  /// connection that the server has closed in good order. Between them and Debian's 8.14.1 nobody has looked.
  static let isSilentOnRejection = version < 0x08_0100 || version >= 0x08_0e00 && !namesRejection
  /// Whether libcurl fails a request that the server has not processed because it is leaving the connection, with CURLE_HTTP2. Its
  /// messages for people tell of the GOAWAY and of the streams. Before, nobody has looked; since 8.1.0, libcurl sends such a request again.
  static let failsWhenAbandoned = 0x07_5800..<0x08_0100 ~= version
  /// Whether libcurl says in its messages for people that a server has rejected a request, and not in any other way. Debian's 8.14.1
  /// does not, and its 8.22.0 does. Between them nobody has looked: if the message is missing, no request is sent twice.
  static let namesRejection = version >= 0x08_0f00
  /// The version of libcurl that is loaded, with a byte each for major, minor and patch.
  static let version = netwatch_curl_version()
}
