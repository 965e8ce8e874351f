import CLibOpenSSL
import FoundationEssentials

/// A certificate with its private key, with which a session authenticates to servers that request one.
///
/// It is read and checked when it is created. Add it to ``HTTPSessionConfiguration/clientCertificates``.
public struct ClientCertificate: Sendable {
  /// The certificate itself, followed by the certificates of authorities that are sent with it.
  public let chain: [X509Certificate]
  let identity: ClientIdentity

  /// Reads a chain and a private key in PEM.
  ///
  /// - Parameters:
  ///   - pem: The certificate, followed by those of its authorities if the server needs them. It includes the private key if
  ///     `key` is nil.
  ///   - key: The private key, encrypted or not. Default: nil, the key is in `pem`.
  ///   - passphrase: The passphrase of the private key. Default: nil, the key is not encrypted.
  /// - Throws: `badSecurityPolicy` if a part cannot be decoded, if the passphrase is wrong or missing, or if the key does not
  ///   belong to the certificate.
  public init(pem: String, key: String? = nil, passphrase: String? = nil) throws(HTTPError) {
    let chain = try X509Certificate.all(pem: pem)
    let handle = try PrivateKeyHandle(pem: key ?? pem, passphrase: passphrase)
    try self.init(chain, handle)
  }

  /// Reads a chain and a private key from files in PEM.
  ///
  /// - Parameters:
  ///   - pemFile: The file with the certificate, followed by those of its authorities. It includes the private key if `keyFile`
  ///     is nil.
  ///   - keyFile: The file with the private key, encrypted or not. Default: nil, the key is in `pemFile`.
  ///   - passphrase: The passphrase of the private key. Default: nil, the key is not encrypted.
  /// - Throws: `fileFailed` if a file cannot be read, and the errors of ``init(pem:key:passphrase:)``.
  public init(pemFile: URL, keyFile: URL? = nil, passphrase: String? = nil) throws(HTTPError) {
    let pem = try Self.read(pemFile)
    let key = try keyFile.map { url throws(HTTPError) in try Self.read(url) }
    try self.init(
      pem: String(decoding: pem, as: UTF8.self), key: key.map { String(decoding: $0, as: UTF8.self) },
      passphrase: passphrase)
  }

  /// Reads the content of a PKCS #12 file (`.p12`, `.pfx`; RFC 7292): a certificate, its private key and possibly further
  /// certificates.
  ///
  /// - Parameters:
  ///   - pkcs12: The content of the file.
  ///   - passphrase: The passphrase of the file. Empty for none.
  /// - Throws: `badSecurityPolicy` if the content cannot be decoded, if the passphrase is wrong, or if there is no key for the
  ///   certificate. Also for a cipher that OpenSSL 3 does not decrypt, such as RC2-40 of older programs; the message then says
  ///   how to encode the file again.
  public init(pkcs12: Data, passphrase: String) throws(HTTPError) {
    let (chain, handle) = try PrivateKeyHandle.read(pkcs12: pkcs12, passphrase)
    try self.init(chain, handle)
  }

  private static func read(_ file: URL) throws(HTTPError) -> Data {
    let path = file.path(percentEncoded: false)
    guard let data = FileManager.default.contents(atPath: path) else { throw HTTPError(file: path, "read") }
    return data
  }

  private init(_ chain: [X509Certificate], _ key: PrivateKeyHandle) throws(HTTPError) {
    self.chain = chain
    identity = try ClientIdentity(chain, key)
  }
}

/// A client certificate and its key as objects of OpenSSL.
///
/// Unchecked: it does not change after its creation, and OpenSSL counts references to certificates and keys atomically.
@safe final class ClientIdentity: @unchecked Sendable {
  private let leaf: CertificateHandle
  private let others: OpenSSLStack
  private let key: PrivateKeyHandle

  init(_ chain: [X509Certificate], _ key: PrivateKeyHandle) throws(HTTPError) {
    guard let first = chain.first, let leaf = CertificateHandle(der: first.der) else {
      throw HTTPError.badClientCertificate("there is no certificate")
    }
    guard unsafe X509_check_private_key(leaf.pointer, key.pointer) == 1 else {
      ERR_clear_error()
      let title = unsafe CertificateHandle.facts(of: leaf.pointer).title
      throw HTTPError.badClientCertificate(
        "the private key is not the one of the certificate \(title); "
          + "give the certificate itself first, then those of its authorities")
    }
    self.leaf = leaf
    self.key = key
    others = try OpenSSLStack(Array(chain.dropFirst()))
  }

  /// - Returns: False if OpenSSL refuses, for example because the key is too short for its security level.
  func use(in context: OpaquePointer) -> Bool {
    let isUsed = unsafe SSL_CTX_use_cert_and_key(context, leaf.pointer, key.pointer, others.pointer, 1) == 1
    if !isUsed { ERR_clear_error() }
    return isUsed
  }
}

extension HTTPError {
  static func badClientCertificate(_ message: String) -> HTTPError {
    HTTPError(.badSecurityPolicy, "read client certificate", message: message)
  }
}
