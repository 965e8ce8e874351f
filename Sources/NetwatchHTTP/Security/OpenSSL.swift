import CLibOpenSSL

/// The errors that OpenSSL has recorded on this thread about failed calls.
struct OpenSSLErrors {
  /// The errors in OpenSSL's words with their data, the oldest first: `unsupported: Algorithm (RC2-40-CBC : 0), Properties ()`.
  private(set) var texts: [String] = []
  /// The reason codes within OpenSSL's libraries.
  private(set) var reasons: [CInt] = []

  /// Takes the recorded errors and clears them.
  init() {
    while texts.count < 16 {
      var (data, flags) = unsafe (UnsafePointer<CChar>?.none, CInt(0))
      let code = unsafe ERR_get_error_all(nil, nil, nil, &data, &flags)
      guard code != 0 else { break }
      reasons.append(CInt(truncatingIfNeeded: code & 0x7f_ffff))
      let words = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
      let more = unsafe flags & ERR_TXT_STRING != 0 ? data.map { unsafe String(cString: $0) } ?? "" : ""
      texts.append(more.isEmpty ? words : "\(words): \(more)")
    }
    ERR_clear_error()
  }

  var text: String { texts.joined(separator: "; ") }

  /// The algorithm that OpenSSL does not support, or only supports with its legacy provider. Nil if there is none.
  var unsupportedAlgorithm: String? {
    for text in texts where text.hasPrefix("unsupported") {
      guard let start = text.firstRange(of: "Algorithm (") else { continue }
      return String(text[start.upperBound...].prefix { $0 != " " && $0 != ")" })
    }
    return nil
  }
}

/// A stack of OpenSSL objects: certificates or revocation lists. It never leaves this folder.
@safe final class OpenSSLStack {
  let pointer: OpaquePointer
  /// The owners of the objects in the stack.
  private let owners: [AnyObject]

  private init(_ owners: [AnyObject], _ objects: [OpaquePointer]) throws(HTTPError) {
    self.owners = owners
    guard let pointer = unsafe OPENSSL_sk_new_null() else { throw HTTPError(.badSecurityPolicy, "OPENSSL_sk_new_null") }
    unsafe self.pointer = pointer
    unsafe objects.forEach { unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer($0)) }
  }

  convenience init(_ certificates: [X509Certificate]) throws(HTTPError) {
    let handles = certificates.compactMap { CertificateHandle(der: $0.der) }
    try unsafe self.init(handles, handles.map { unsafe $0.pointer })
  }

  convenience init(_ lists: [RevocationList]) throws(HTTPError) {
    let handles = lists.compactMap { RevocationListHandle(der: $0.der) }
    try unsafe self.init(handles, handles.map { unsafe $0.pointer })
  }

  deinit { unsafe OPENSSL_sk_free(pointer) }
}
