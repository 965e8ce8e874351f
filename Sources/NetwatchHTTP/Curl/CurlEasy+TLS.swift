import CLibCurl
import CLibOpenSSL

/// The TLS handshakes of the connections that libcurl makes for a request.
extension CurlEasy {
  /// Sets the options of TLS.
  ///
  /// - Parameters:
  ///   - versions: The versions of TLS, as in CURLOPT_SSLVERSION.
  ///   - proxy: The proxy that may use TLS; nil if there is none.
  func prepareTLS(_ url: CurlURL, versions: Int, proxy: (host: String, trust: HostTrust)?) {
    set(CURLOPT_SSL_VERIFYPEER, 1)
    set(CURLOPT_SSL_VERIFYHOST, url.trust?.policy.validatesDomainName ?? true ? 2 : 0)
    set(CURLOPT_SSLVERSION, versions)
    // libcurl parses the system's bundle once for all connections (since 7.87), but only if no folder is set.
    set(CURLOPT_CAPATH, nil)
    if url.trust?.evaluator.hasOwnRoots ?? false { set(CURLOPT_CAINFO, nil) }
    tlsProxy = proxy
    if let proxy { prepareTLS(ofProxy: proxy.trust, versions) }
    unsafe setTLSCallback(
      { _, context, pointer in
        guard let context = unsafe context, let pointer = unsafe pointer else { return CURLE_SSL_CERTPROBLEM }
        let easy = unsafe CurlEasy.at(pointer)
        return unsafe easy.begins(handshakeIn: OpaquePointer(context)) ? CURLE_OK : CURLE_SSL_CERTPROBLEM
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func prepareTLS(ofProxy trust: HostTrust, _ versions: Int) {
    set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
    set(CURLOPT_PROXY_SSL_VERIFYHOST, trust.policy.validatesDomainName ? 2 : 0)
    set(CURLOPT_PROXY_SSLVERSION, versions)
    set(CURLOPT_PROXY_CAPATH, nil)
    if trust.evaluator.hasOwnRoots { set(CURLOPT_PROXY_CAINFO, nil) }
    // This marks the handshakes of a proxy, because libcurl reports nowhere whose they are. It is an option of TLS 1.0, which
    // is not used.
    set(CURLOPT_PROXY_SSL_OPTIONS, Int(CURLSSLOPT_ALLOW_BEAST))
    // A server could have the name and the port of the proxy, but another policy. It must not resume a session that the proxy's
    // policy has accepted.
    set(CURLOPT_SSL_SESSIONID_CACHE, 0)
  }

  /// Prepares a handshake.
  ///
  /// - Returns: False if the connection must not be made.
  private func begins(handshakeIn context: OpaquePointer) -> Bool {
    let handshake: Handshake
    let trust: HostTrust
    if let tlsProxy, unsafe isOfProxy(context) {
      trust = tlsProxy.trust
      handshake = Handshake(with: tlsProxy.host, trust)
    } else {
      guard let host = url?.server.flatMap({ HostName.canonical($0.host) }), let server = url?.trust else {
        return false
      }
      trust = server
      handshake = Handshake(with: host, trust)
    }
    if !trust.evaluator.hasOwnRoots { unsafe CurlLibrary.addCertificateFolder(to: context) }
    handshakes.append(handshake)
    return unsafe handshake.prepare(context)
  }

  private func isOfProxy(_ context: OpaquePointer) -> Bool {
    // libcurl leaves this OpenSSL option on for no other connections (CURLSSLOPT_ALLOW_BEAST).
    unsafe SSL_CTX_get_options(context) & netwatch_ssl_no_empty_fragments != 0
  }

  /// Returns the failure of TLS; nil if the failure is another one.
  func tlsFailure(_ code: CURLcode, _ words: String) -> TLSFailure? {
    if let failure = handshakes.last(where: { $0.failure != nil })?.failure { return failure }
    guard let host = handshakes.last?.host ?? url?.server?.host else { return nil }
    let reason = Self.reason(in: words)
    if let reason, 1_000...1_255 ~= reason { return refusal(reason - 1_000, host, code) }
    if reason == Int(SSL_R_UNSUPPORTED_PROTOCOL) {
      return TLSFailure(
        .versionRefused, host: host, "\(host) speaks no version of TLS that this session allows: \(words)")
    }
    return code == CURLE_PEER_FAILED_VERIFICATION ? TLSFailure(.certificateInvalid, host: host, words) : nil
  }

  /// Returns the number of an OpenSSL failure in a message of libcurl, which writes it as `error:0A000412`, and in 8.14 after
  /// `TLS connect error: `. Alerts of the other side begin at 1000.
  static func reason(in words: String) -> Int? {
    guard let mark = words.ranges(of: "error:").last,
      let number = UInt32(words[mark.upperBound...].prefix(8), radix: 16), number >> 23 & 0xff == UInt32(ERR_LIB_SSL)
    else { return nil }
    return Int(number & 0x7f_ffff)
  }

  private func refusal(_ alert: Int, _ host: String, _ code: CURLcode) -> TLSFailure? {
    let hasCertificate = url?.trust?.certificate != nil
    // Another request may have made the connection, so there may be no handshake here.
    let failure =
      handshakes.last?.refusal(alert)
      ?? Handshake.refusal(alert, host, wantsCertificate: hasCertificate, hasCertificate: hasCertificate)
    // With TLS 1.3, a server checks the client's certificate after the client has finished the handshake.
    let isAboutCertificate = [.clientCertificateRequired, .clientCertificateRejected].contains(failure.reason)
    return isAboutCertificate || code == CURLE_SSL_CONNECT_ERROR ? failure : nil
  }
}
