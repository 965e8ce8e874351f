import CLibOpenSSL
import FoundationEssentials

/// The SHA-256 of a public key with its algorithm (SubjectPublicKeyInfo). HPKP (RFC 7469, section 2.4), curl's `--pinnedpubkey`
/// and OkHttp pin keys in this way.
///
/// A renewed certificate with the same key has the same pin. Pin a second key that the server does not use yet, and keep that
/// key offline. If a server loses its only pinned key, no installed app can reach it.
public struct PublicKeyPin: Hashable, Sendable {
  /// The hash, 32 bytes long.
  public let sha256: Data

  /// Creates the pin of a certificate's key.
  ///
  /// - Parameter certificate: The certificate.
  public init(_ certificate: X509Certificate) {
    sha256 = certificate.publicKeyHash
  }

  /// Reads a pin as text: `sha256/` and the base64 of the hash, or with two slashes, as curl writes it.
  ///
  /// - Parameter text: The pin.
  /// - Throws: `badSecurityPolicy` for any other text.
  public init(_ text: String) throws(HTTPError) {
    for prefix in ["sha256//", "sha256/"] where text.hasPrefix(prefix) {
      // Base64 can contain a slash, so 'sha256//AAA…' is ambiguous, but only one reading has 32 bytes.
      guard let hash = Data(base64Encoded: String(text.dropFirst(prefix.count))), hash.count == 32 else { continue }
      sha256 = hash
      return
    }
    throw HTTPError(
      .badSecurityPolicy, "read pin",
      message: "'\(text)' is not a pin; write sha256/ and the base64 of the 32 bytes of a SHA-256")
  }

  /// Creates the pin of a key in DER (SubjectPublicKeyInfo), as `openssl pkey -pubout -outform DER` writes it.
  ///
  /// - Parameter publicKeyDER: The bytes of the key.
  /// - Throws: `badSecurityPolicy` if the bytes are not exactly one public key.
  public init(publicKeyDER: Data) throws(HTTPError) {
    let isKey =
      CertificateHandle.libraryIsStarted
      && (unsafe publicKeyDER.withUnsafeBytes { bytes in
        var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let start = unsafe cursor
        guard let key = unsafe d2i_PUBKEY(nil, &cursor, bytes.count) else { return false }
        unsafe EVP_PKEY_free(key)
        return unsafe cursor == start?.advanced(by: bytes.count)
      })
    guard isKey else {
      throw HTTPError(
        .badSecurityPolicy, "read pin",
        message: "not a public key in DER; openssl pkey -pubin -outform DER writes one")
    }
    sha256 = publicKeyDER.sha256
  }
}

extension PublicKeyPin: CustomStringConvertible {
  /// The pin as text: `sha256/` and the base64 of ``sha256``.
  public var description: String { "sha256/\(sha256.base64EncodedString())" }
}

extension Data {
  /// The SHA-256 of the bytes: 32 bytes.
  var sha256: Data {
    var hash = Data(count: 32)
    unsafe hash.withUnsafeMutableBytes { hash in
      unsafe withUnsafeBytes { bytes in
        _ = unsafe EVP_Digest(
          bytes.baseAddress, bytes.count, hash.baseAddress?.assumingMemoryBound(to: UInt8.self), nil, EVP_sha256(), nil)
      }
    }
    return hash
  }
}
