import CLibOpenSSL
import FoundationEssentials

/// Judges servers' certificates within OpenSSL's handshake. Belongs to the session's loop, and outlives its connections.
@safe final class TrustEvaluator {
  let policy: SecurityPolicy
  /// In the place of the system's roots; nil for those.
  private let anchors: CertificateStack?
  private let pinnedKeys: Set<Data>
  private let pinnedCertificates: Set<Data>

  init(_ policy: SecurityPolicy) throws(HTTPError) {
    self.policy = policy
    pinnedKeys = Set(policy.pins.map(\.publicKey))
    pinnedCertificates = Set(policy.pins.map(\.der))
    switch (policy.pinningMode, policy.roots) {
    case (.certificate, _): anchors = try CertificateStack(policy.pins)
    case (_, .certificates(let roots)): anchors = try CertificateStack(roots)
    case (_, .system): anchors = nil
    }
  }

  /// Whether the system's roots do not count.
  var hasOwnRoots: Bool { anchors != nil }

  /// Judges the certificates of a context's handshakes, unless OpenSSL's own judgement is enough.
  func prepare(_ context: OpaquePointer) {
    guard policy.pinningMode != .none || policy.allowsInvalidCertificates || hasOwnRoots else { return }
    unsafe SSL_CTX_set_cert_verify_callback(
      context,
      { store, pointer in
        guard let store = unsafe store, let pointer = unsafe pointer else { return 0 }
        let evaluator = unsafe Unmanaged<TrustEvaluator>.fromOpaque(pointer).takeUnretainedValue()
        return unsafe evaluator.isTrusted(store) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// What is wrong with a certificate that a pin makes up for. A wrong signature is never among it: the chain that is searched
  /// for pins is one in which each certificate has really signed the next.
  private static func isForgivable(_ error: CInt) -> Bool {
    switch error {
    case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
      X509_V_ERR_CERT_UNTRUSTED:
      true
    default: false
    }
  }

  private func isTrusted(_ store: OpaquePointer) -> Bool {
    if let anchors { unsafe X509_STORE_CTX_set0_trusted_stack(store, anchors.pointer) }
    if policy.pinningMode == .certificate {
      // A server's own certificate, or an intermediate one, is a root then.
      unsafe X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(store), UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }
    if policy.allowsInvalidCertificates {
      unsafe X509_STORE_CTX_set_verify_cb(store) { isValid, store in
        isValid == 1 || TrustEvaluator.isForgivable(unsafe X509_STORE_CTX_get_error(store)) ? 1 : 0
      }
    }
    guard unsafe X509_verify_cert(store) == 1 else { return false }
    guard policy.pinningMode == .none || (unsafe hasPin(X509_STORE_CTX_get0_chain(store))) else {
      unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
      return false
    }
    // What was forgiven is still noted there.
    unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
    return true
  }

  private func hasPin(_ chain: OpaquePointer?) -> Bool {
    for index in 0..<(unsafe OPENSSL_sk_num(chain)) {
      guard let item = unsafe OPENSSL_sk_value(chain, index) else { continue }
      let certificate = OpaquePointer(item)
      switch policy.pinningMode {
      case .none: return true
      case .publicKey:
        if let key = unsafe CertificateHandle.publicKey(of: certificate), pinnedKeys.contains(key) { return true }
      case .certificate:
        if pinnedCertificates.contains(unsafe CertificateHandle.der(of: certificate)) { return true }
      }
    }
    return false
  }
}

/// Certificates as OpenSSL wants several.
@safe private final class CertificateStack {
  let pointer: OpaquePointer
  private let certificates: [CertificateHandle]

  init(_ certificates: [Certificate]) throws(HTTPError) {
    self.certificates = certificates.compactMap { CertificateHandle(der: $0.der) }
    guard let pointer = unsafe OPENSSL_sk_new_null() else { throw HTTPError(.badSecurityPolicy, "OPENSSL_sk_new_null") }
    unsafe self.pointer = pointer
    for certificate in self.certificates {
      unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer(certificate.pointer))
    }
  }

  deinit { unsafe OPENSSL_sk_free(pointer) }
}
