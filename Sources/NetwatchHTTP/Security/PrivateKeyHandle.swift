import CLibOpenSSL
import FoundationEssentials

/// A private key of OpenSSL. It never leaves this folder.
@safe final class PrivateKeyHandle {
  let pointer: OpaquePointer

  deinit { unsafe EVP_PKEY_free(pointer) }

  private init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

  /// - Throws: `badSecurityPolicy`.
  init(pem: String, passphrase: String?) throws(HTTPError) {
    guard CertificateHandle.libraryIsStarted else { throw HTTPError.badClientCertificate("OpenSSL does not start") }
    ERR_clear_error()
    let question = PassphraseQuestion(passphrase)
    let key = unsafe question.withPointer { question in
      let bytes = Array(pem.utf8)
      return unsafe bytes.withUnsafeBytes { bytes -> OpaquePointer? in
        guard let input = unsafe BIO_new_mem_buf(bytes.baseAddress, CInt(clamping: bytes.count)) else { return nil }
        defer { unsafe BIO_free(input) }
        return unsafe PEM_read_bio_PrivateKey(
          input, nil, { unsafe PassphraseQuestion.answer($0, $1, $3) }, question)
      }
    }
    let errors = OpenSSLErrors()
    guard let key = unsafe key else { throw Self.failure(errors, wasAsked: question.wasAsked, passphrase) }
    unsafe pointer = key
  }

  private static func failure(_ errors: OpenSSLErrors, wasAsked: Bool, _ passphrase: String?) -> HTTPError {
    if let algorithm = errors.unsupportedAlgorithm {
      return .badClientCertificate(
        "the private key is encrypted with \(algorithm), which OpenSSL does not decrypt without its legacy provider; "
          + "encode it again: openssl pkey -provider legacy -provider default -in OLD -aes256 -out NEW")
    }
    if wasAsked {
      return .badClientCertificate(
        passphrase == nil
          ? "the private key is encrypted; give its passphrase" : "the passphrase of the private key is wrong")
    }
    return .badClientCertificate(
      "there is no private key in PEM; give the text that begins with -----BEGIN PRIVATE KEY-----")
  }

  /// - Returns: The certificate followed by the others in the order of the file, and the key.
  /// - Throws: `badSecurityPolicy`.
  static func read(
    pkcs12: Data, _ passphrase: String
  ) throws(HTTPError) -> (chain: [X509Certificate], key: PrivateKeyHandle) {
    guard CertificateHandle.libraryIsStarted else { throw HTTPError.badClientCertificate("OpenSSL does not start") }
    ERR_clear_error()
    let file = unsafe pkcs12.withUnsafeBytes { bytes -> OpaquePointer? in
      var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe d2i_PKCS12(nil, &cursor, bytes.count)
    }
    guard let file = unsafe file else {
      ERR_clear_error()
      throw HTTPError.badClientCertificate("not a file in PKCS #12; give the content of a .p12 or .pfx file")
    }
    defer { unsafe PKCS12_free(file) }
    var (key, leaf, others) = unsafe (OpaquePointer?.none, OpaquePointer?.none, OpaquePointer?.none)
    let isRead = unsafe PKCS12_parse(file, passphrase, &key, &leaf, &others) == 1
    let errors = OpenSSLErrors()
    let handle = unsafe key.map { unsafe PrivateKeyHandle(owning: $0) }
    defer {
      unsafe X509_free(leaf)
      while let other = unsafe OPENSSL_sk_pop(others) { unsafe X509_free(OpaquePointer(other)) }
      unsafe OPENSSL_sk_free(others)
    }
    guard isRead else { throw failure(errors) }
    guard let handle, let leaf = unsafe leaf else {
      throw HTTPError.badClientCertificate(
        "there is no private key with its certificate in the file; export both: openssl pkcs12 -export -inkey KEY -in CERT"
      )
    }
    var chain = [try X509Certificate(der: unsafe CertificateHandle.der(of: leaf))]
    for index in 0..<max(unsafe OPENSSL_sk_num(others), 0) {
      guard let other = unsafe OPENSSL_sk_value(others, index) else { continue }
      chain.append(try X509Certificate(der: unsafe CertificateHandle.der(of: OpaquePointer(other))))
    }
    return (chain, handle)
  }

  private static func failure(_ errors: OpenSSLErrors) -> HTTPError {
    if let algorithm = errors.unsupportedAlgorithm {
      return .badClientCertificate(
        "the file is encrypted with \(algorithm), which OpenSSL 3 does not decrypt without its legacy provider; encode it "
          + "again: openssl pkcs12 -legacy -in OLD -out TEMP, then openssl pkcs12 -export -in TEMP -out NEW")
    }
    guard errors.reasons.contains(PKCS12_R_MAC_VERIFY_FAILURE) else { return .badClientCertificate(errors.text) }
    return .badClientCertificate("the passphrase of the file is wrong")
  }
}

/// Answers OpenSSL's request for a passphrase. Without an answer, OpenSSL would read it from the terminal.
private final class PassphraseQuestion {
  private let passphrase: [UInt8]?
  private(set) var wasAsked = false

  init(_ passphrase: String?) { self.passphrase = passphrase.map { Array($0.utf8) } }

  func withPointer<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result {
    withExtendedLifetime(self) { unsafe body(Unmanaged.passUnretained(self).toOpaque()) }
  }

  static func answer(
    _ room: UnsafeMutablePointer<CChar>?, _ size: CInt, _ pointer: UnsafeMutableRawPointer?
  ) -> CInt {
    guard let room = unsafe room, let pointer = unsafe pointer else { return -1 }
    let question = unsafe Unmanaged<PassphraseQuestion>.fromOpaque(pointer).takeUnretainedValue()
    question.wasAsked = true
    guard let passphrase = question.passphrase, passphrase.count <= Int(size) else { return -1 }
    for (index, byte) in passphrase.enumerated() { unsafe room[index] = CChar(bitPattern: byte) }
    return CInt(passphrase.count)
  }
}
