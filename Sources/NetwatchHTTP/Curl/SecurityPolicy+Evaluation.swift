import CLibCurl
import CLibOpenSSL

extension SecurityPolicy {
  /// Evaluates a certificate chain for a host, exactly as a handshake with the host would.
  ///
  /// The call uses no network, and can be made on any thread. If the policy uses the system's roots, the call parses all of
  /// them, which takes about 25 ms of CPU time.
  ///
  /// - Parameters:
  ///   - chain: The server's certificate, followed by the other certificates in the order in which the server sends them.
  ///   - host: The name or the address of the server, without a port.
  /// - Throws: `serverCertificateUntrusted` with ``HTTPError/tlsFailure`` if the policy does not trust the server; `badURL` if
  ///   `host` is not a host; `badSecurityPolicy` if `chain` is empty.
  public func evaluate(_ chain: [X509Certificate], for host: String) throws(HTTPError) {
    let operation = "evaluate chain"
    try CurlLibrary.start()
    guard let name = HostName.canonical(host) else {
      throw HTTPError(.badURL, operation, message: "'\(host)' is not a host; give a name or an address")
    }
    guard let first = chain.first, let leaf = CertificateHandle(der: first.der) else {
      throw HTTPError(
        .badSecurityPolicy, operation, message: "the chain is empty; give at least the server's certificate")
    }
    let evaluator = try TrustEvaluator(self)
    let others = try OpenSSLStack(chain)
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw HTTPError(.other, "SSL_CTX_new") }
    defer { unsafe SSL_CTX_free(context) }
    if !evaluator.hasOwnRoots { unsafe CurlLibrary.addSystemRoots(to: context) }
    guard let roots = unsafe SSL_CTX_get_cert_store(context), let store = unsafe X509_STORE_CTX_new() else {
      throw HTTPError(.other, "X509_STORE_CTX_new")
    }
    defer { unsafe X509_STORE_CTX_free(store) }
    guard unsafe X509_STORE_CTX_init(store, roots, leaf.pointer, others.pointer) == 1,
      unsafe X509_STORE_CTX_set_default(store, "ssl_server") == 1
    else { throw HTTPError(.other, "X509_STORE_CTX_init") }
    let parameters = unsafe X509_STORE_CTX_get0_param(store)
    // OpenSSL and libcurl set the same parameters in a handshake.
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, SSL_CTX_get_security_level(context))
    unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN))
    if let failure = unsafe evaluator.judge(store, name) { throw HTTPError(failure, operation) }
  }
}
