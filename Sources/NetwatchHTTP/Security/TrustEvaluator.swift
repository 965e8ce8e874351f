import CLibOpenSSL
import FoundationEssentials

/// Evaluates chains of certificates by a policy, within OpenSSL's handshakes and for other callers. Belongs to one thread.
@safe final class TrustEvaluator {
  let policy: SecurityPolicy
  /// The roots that replace those of the system. Nil to use the system's.
  private let anchors: OpenSSLStack?
  private let pinnedKeys: [Data]
  private let pinnedCertificates: [Data]
  /// Nil if revocation is not checked.
  private let revocationLists: OpenSSLStack?

  init(_ policy: SecurityPolicy) throws(HTTPError) {
    self.policy = policy
    pinnedKeys = policy.pins.map(\.publicKeyHash) + policy.keyPins.map(\.sha256)
    pinnedCertificates = policy.pins.map(\.der)
    revocationLists = policy.revocationLists.isEmpty ? nil : try OpenSSLStack(policy.revocationLists)
    switch (policy.pinningMode, policy.roots) {
    case (.certificate, _): anchors = try OpenSSLStack(policy.pins)
    case (_, .certificates(let roots)): anchors = try OpenSSLStack(roots)
    case (_, .system): anchors = nil
    }
  }

  /// Whether the roots of the system are replaced.
  var hasOwnRoots: Bool { anchors != nil }

  /// Whether a pin makes up for this fault of a certificate. A wrong signature is never among these faults: in the chain that
  /// is searched for pins, each certificate has really signed the next.
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

  /// Evaluates the chain that OpenSSL is about to verify.
  ///
  /// - Parameter host: The host as ``HostName/canonical(_:)`` writes it.
  /// - Returns: The failure. Nil if the host is trusted. It is also set in OpenSSL, for the alert.
  func judge(_ store: OpaquePointer, _ host: String) -> TLSFailure? {
    if let anchors { unsafe X509_STORE_CTX_set0_trusted_stack(store, anchors.pointer) }
    if policy.pinningMode == .certificate {
      // A pinned certificate of a server or of an intermediate authority counts as a root.
      unsafe X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(store), UInt(X509_V_FLAG_PARTIAL_CHAIN))
    }
    if let revocationLists { unsafe lookUpRevocations(in: revocationLists, store) }
    // Pinned certificates are the roots, so there is nothing to forgive: what has expired is refused, as in AFNetworking.
    if policy.allowsInvalidCertificates, policy.pinningMode != .certificate {
      unsafe X509_STORE_CTX_set_verify_cb(store) { isValid, store in
        let isForgiven =
          TrustEvaluator.isForgivable(unsafe X509_STORE_CTX_get_error(store))
          || (unsafe TrustEvaluator.isAuthorityWithoutList(store))
        return isValid == 1 || isForgiven ? 1 : 0
      }
    }
    guard unsafe X509_verify_cert(store) == 1 else { return unsafe failure(store, host) }
    let chain = unsafe X509_STORE_CTX_get0_chain(store)
    guard policy.pinningMode == .none || (unsafe hasPin(chain)) else {
      unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
      return unsafe noPin(chain, host)
    }
    if policy.validatesDomainName, let leaf = unsafe X509_STORE_CTX_get0_cert(store),
      !(unsafe CertificateHandle.isFor(host, leaf))
    {
      unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH)
      return unsafe nameMismatch(leaf, host)
    }
    if let check = policy.check, let failure = unsafe refusal(by: check, chain, host) {
      unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
      return failure
    }
    // A forgiven error is still recorded there.
    unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
    return nil
  }

  private func lookUpRevocations(in lists: OpenSSLStack, _ store: OpaquePointer) {
    unsafe X509_STORE_CTX_set0_crls(store, lists.pointer)
    unsafe X509_VERIFY_PARAM_set_flags(
      X509_STORE_CTX_get0_param(store), UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
    unsafe X509_STORE_CTX_set_verify_cb(store) { isValid, store in
      isValid == 1 || (unsafe TrustEvaluator.isAuthorityWithoutList(store)) ? 1 : 0
    }
  }

  /// Only the server's own certificate must have a list.
  private static func isAuthorityWithoutList(_ store: OpaquePointer?) -> Bool {
    unsafe X509_STORE_CTX_get_error(store) == X509_V_ERR_UNABLE_TO_GET_CRL
      && X509_STORE_CTX_get_error_depth(store) > 0
  }

  private func refusal(by check: SecurityPolicy.Check, _ chain: OpaquePointer?, _ host: String) -> TLSFailure? {
    let certificates = unsafe Self.certificates(of: chain)
    do {
      try check(try unsafe certificates.map { try X509Certificate(der: unsafe CertificateHandle.der(of: $0)) }, host)
      return nil
    } catch {
      let facts = unsafe CertificateHandle.facts(of: certificates.first)
      let words = (error as? HTTPError)?.message ?? "\(error)"
      return TLSFailure(
        .checkFailed, host: host, "the check of the policy refuses the certificate \(facts.title) of \(host): \(words)",
        facts)
    }
  }

  private func hasPin(_ chain: OpaquePointer?) -> Bool {
    unsafe Self.certificates(of: chain).contains { certificate in
      switch policy.pinningMode {
      case .none: true
      case .publicKey: (unsafe Self.keyHash(of: certificate)).map { pinnedKeys.contains($0) } ?? false
      case .certificate: pinnedCertificates.contains(unsafe CertificateHandle.der(of: certificate))
      }
    }
  }

  private static func certificates(of chain: OpaquePointer?) -> [OpaquePointer] {
    unsafe (0..<max(OPENSSL_sk_num(chain), 0)).compactMap { index in
      unsafe OPENSSL_sk_value(chain, index).map { OpaquePointer($0) }
    }
  }

  private static func keyHash(of certificate: OpaquePointer) -> Data? {
    unsafe CertificateHandle.publicKey(of: certificate).map(\.sha256)
  }

  // MARK: Sentences

  private func noPin(_ chain: OpaquePointer?, _ host: String) -> TLSFailure {
    let certificates = unsafe Self.certificates(of: chain)
    let facts = unsafe CertificateHandle.facts(of: certificates.first)
    let hashes = unsafe certificates.compactMap { unsafe Self.keyHash(of: $0)?.base64EncodedString() }
    let keys =
      policy.pinningMode == .publicKey ? "; its keys are \(hashes.map { "sha256/\($0)" }.joined(separator: ", "))" : ""
    return TLSFailure(
      .noPinMatched, host: host, "no pin is in the chain of the certificate \(facts.title) of \(host)\(keys)", facts)
  }

  private func nameMismatch(_ leaf: OpaquePointer, _ host: String) -> TLSFailure {
    let facts = unsafe CertificateHandle.facts(of: leaf)
    let names = facts.names.isEmpty ? facts.title : facts.names.joined(separator: ", ")
    return TLSFailure(.nameMismatch, host: host, "the certificate is for \(names), and not for \(host)", facts)
  }

  /// Converts the error that OpenSSL has recorded.
  private func failure(_ store: OpaquePointer, _ host: String) -> TLSFailure {
    let code = unsafe X509_STORE_CTX_get_error(store)
    let facts = unsafe CertificateHandle.facts(
      of: X509_STORE_CTX_get_current_cert(store) ?? X509_STORE_CTX_get0_cert(store))
    func failure(_ reason: TLSFailure.Reason, _ message: String) -> TLSFailure {
      TLSFailure(reason, host: host, message, facts)
    }
    switch code {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      let time = TLSFailure.Facts.text(of: facts.validUntil)
      return failure(.certificateExpired, "the certificate \(facts.title) of \(host) has expired at \(time)")
    case X509_V_ERR_CERT_NOT_YET_VALID:
      let time = TLSFailure.Facts.text(of: facts.validFrom)
      return failure(
        .certificateNotYetValid,
        "the certificate \(facts.title) of \(host) is not valid before \(time); check this machine's clock")
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT where policy.pinningMode != .certificate:
      return failure(
        .selfSigned, "the certificate \(facts.title) of \(host) is signed with its own key, and is no trusted root")
    case _ where Self.isForgivable(code):
      // The pins are the roots.
      if policy.pinningMode == .certificate { return unsafe noPin(X509_STORE_CTX_get0_chain(store), host) }
      return failure(
        .unknownAuthority,
        "the certificate \(facts.title) of \(host) is signed by '\(facts.issuer)', which is not trusted, or whose "
          + "certificate the server has not sent")
    case X509_V_ERR_CERT_REVOKED:
      return failure(
        .certificateRevoked, "the certificate \(facts.title) of \(host) was revoked by '\(facts.issuer)'")
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return failure(
        .revocationUnknown,
        "the policy has no revocation list of '\(facts.issuer)', which has signed the certificate \(facts.title) of \(host)"
      )
    case X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_SIGNATURE_FAILURE,
      X509_V_ERR_KEYUSAGE_NO_CRL_SIGN:
      let words = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
      return failure(
        .revocationUnknown,
        "the revocation list of '\(facts.issuer)' cannot be used for the certificate \(facts.title) of \(host): \(words)"
      )
    default:
      let words = unsafe String(cString: X509_verify_cert_error_string(Int(code)))
      return failure(.certificateInvalid, "the certificate \(facts.title) of \(host) is not valid: \(words)")
    }
  }
}
