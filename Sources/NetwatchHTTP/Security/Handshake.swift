import CLibOpenSSL

/// One TLS handshake with a server or a proxy: evaluates the certificates within OpenSSL, keeps the failure, and notes how the
/// connection ends. It lives as long as OpenSSL's context of the connection.
@safe final class Handshake {
  /// The name of the other side, for error messages.
  let host: String
  private let trust: HostTrust
  /// The reason why the other side is not trusted. Nil if there is none.
  private(set) var failure: TLSFailure?
  /// Whether the other side has requested a client certificate.
  private(set) var wantsCertificate = false
  /// Whether the other side has said that it sends nothing more (`close_notify`; RFC 8446, section 6.1).
  private(set) var hasEndedInOrder = false
  /// Whether there is a client certificate for the other side.
  var hasCertificate: Bool { trust.certificate != nil }

  init(with host: String, _ trust: HostTrust) {
    self.host = host
    self.trust = trust
  }

  /// The index at which a context keeps its handshake. The handshake is released when the context is freed.
  private static let place = unsafe CRYPTO_get_ex_new_index(
    CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil,
    { _, pointer, _, _, _, _ in
      if let pointer = unsafe pointer { unsafe Unmanaged<Handshake>.fromOpaque(pointer).release() }
    })

  /// Makes a context evaluate the certificates of its handshake, and present the client certificate if there is one.
  ///
  /// - Returns: False if OpenSSL refuses, so that the connection must not be made.
  func prepare(_ context: OpaquePointer) -> Bool {
    let held = unsafe Unmanaged.passRetained(self)
    guard Self.place >= 0, unsafe SSL_CTX_set_ex_data(context, Self.place, held.toOpaque()) == 1 else {
      unsafe held.release()
      return false
    }
    unsafe SSL_CTX_set_cert_verify_callback(
      context,
      { store, pointer in
        guard let store = unsafe store, let pointer = unsafe pointer else { return 0 }
        let handshake = unsafe Unmanaged<Handshake>.fromOpaque(pointer).takeUnretainedValue()
        handshake.failure = unsafe handshake.trust.evaluator.judge(store, handshake.host)
        return handshake.failure == nil ? 1 : 0
      }, held.toOpaque())
    unsafe SSL_CTX_set_cert_cb(
      context,
      { _, pointer in
        guard let pointer = unsafe pointer else { return 0 }
        unsafe Unmanaged<Handshake>.fromOpaque(pointer).takeUnretainedValue().wantsCertificate = true
        return 1
      }, held.toOpaque())
    unsafe SSL_CTX_set_info_callback(context) { tls, event, value in
      // The upper byte of an alert is its level, the lower one its number.
      guard event == SSL_CB_READ_ALERT, value & 0xff == SSL3_AD_CLOSE_NOTIFY, let tls = unsafe tls else { return }
      unsafe Handshake.of(tls)?.hasEndedInOrder = true
    }
    return unsafe trust.certificate?.identity.use(in: context) ?? true
  }

  /// Returns the handshake of a connection. Nil if it is none of this module's connections.
  static func of(_ tls: OpaquePointer) -> Handshake? {
    guard place >= 0, let context = unsafe SSL_get_SSL_CTX(tls), let held = unsafe SSL_CTX_get_ex_data(context, place)
    else { return nil }
    return unsafe Unmanaged<Handshake>.fromOpaque(held).takeUnretainedValue()
  }

  /// Returns the meaning of an alert from the other side (RFC 8446, section 6.2), by its number.
  func refusal(_ alert: Int) -> TLSFailure {
    Self.refusal(alert, host, wantsCertificate: wantsCertificate, hasCertificate: hasCertificate)
  }

  /// - Parameters:
  ///   - wantsCertificate: Whether the other side has requested a client certificate.
  ///   - hasCertificate: Whether there was a client certificate.
  static func refusal(_ alert: Int, _ host: String, wantsCertificate: Bool, hasCertificate: Bool) -> TLSFailure {
    let name = unsafe SSL_alert_desc_string_long(CInt(truncatingIfNeeded: alert)).map { unsafe String(cString: $0) }
    let words = "\(name ?? "unknown") (alert \(alert))"
    switch alert {
    case 70:
      return TLSFailure(
        .versionRefused, host: host,
        "\(host) does not speak the versions of TLS that this session allows: \(words)")
    // Alert 116 (certificate_required) from any side, and a server's alerts about a certificate that it has requested and not
    // received.
    case 116 where !hasCertificate, 40...49 where wantsCertificate && !hasCertificate:
      return TLSFailure(
        .clientCertificateRequired, host: host,
        "\(host) requires a client certificate; add one to clientCertificates: \(words)")
    case 40...49 where wantsCertificate, 51 where wantsCertificate, 116:
      return TLSFailure(
        .clientCertificateRejected, host: host, "\(host) does not accept the client certificate: \(words)")
    default:
      return TLSFailure(.handshakeRefused, host: host, "\(host) has ended the TLS handshake: \(words)")
    }
  }
}
