import CLibOpenSSL
import FoundationEssentials

/// A list of the certificates that an authority has revoked (a CRL, RFC 5280, section 5), signed by the authority. See
/// ``SecurityPolicy/init(_:pins:keyPins:roots:allowsInvalidCertificates:validatesDomainName:revocationLists:check:)``.
public struct RevocationList: Hashable, Sendable {
  /// The list in DER.
  public let der: Data

  /// Reads a revocation list in DER.
  ///
  /// - Parameter der: The bytes of the list.
  /// - Throws: `badSecurityPolicy` if the bytes are not exactly one revocation list.
  public init(der: Data) throws(HTTPError) {
    guard RevocationListHandle(der: der) != nil else {
      throw HTTPError(.badSecurityPolicy, "read revocation list", message: "not a list in DER")
    }
    self.der = der
  }

  /// Returns all revocation lists in a PEM text. There may be other text between them.
  ///
  /// - Parameter pem: The text.
  /// - Throws: `badSecurityPolicy` if there is no list, or one that cannot be decoded.
  public static func all(pem: String) throws(HTTPError) -> [RevocationList] {
    try pem.pemBlocks("X509 CRL", "read revocation list", otherwise: "not a list in PEM", RevocationList.init(der:))
  }

  /// Returns the revocation lists of a file in DER or PEM.
  ///
  /// - Parameter url: The URL of the file.
  /// - Throws: `fileFailed` if the file cannot be read. `badSecurityPolicy` if it contains no list, or one that cannot be
  ///   decoded.
  public static func load(_ url: URL) throws(HTTPError) -> [RevocationList] {
    let path = url.path(percentEncoded: false)
    guard let data = FileManager.default.contents(atPath: path) else { throw HTTPError(file: path, "read") }
    do throws(HTTPError) {
      if let list = try? RevocationList(der: data) { return [list] }
      return try all(pem: String(decoding: data, as: UTF8.self))
    } catch {
      throw HTTPError(.badSecurityPolicy, "read \(path)", message: error.message)
    }
  }
}

/// A revocation list of OpenSSL. It never leaves this folder.
@safe final class RevocationListHandle {
  let pointer: OpaquePointer

  /// Nil if the bytes are not a list, or if more bytes follow it.
  init?(der: Data) {
    guard CertificateHandle.libraryIsStarted else { return nil }
    let (pointer, isWhole) = unsafe der.withUnsafeBytes { bytes -> (OpaquePointer?, Bool) in
      guard let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return (nil, false) }
      var cursor: UnsafePointer<UInt8>? = unsafe start
      let pointer = unsafe d2i_X509_CRL(nil, &cursor, bytes.count)
      return unsafe (pointer, cursor == start + bytes.count)
    }
    guard let pointer = unsafe pointer else {
      ERR_clear_error()
      return nil
    }
    guard isWhole else {
      unsafe X509_CRL_free(pointer)
      return nil
    }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_CRL_free(pointer) }
}
