import CLibOpenSSL
import FoundationEssentials

/// A certificate to pin, or to trust as a root. Two are equal if their bytes are equal.
public struct Certificate: Hashable, Sendable {
  /// The certificate in DER.
  public let der: Data
  /// The SHA-256 of the public key with its algorithm. A renewed certificate may have the same one.
  let publicKeyHash: Data

  /// Reads a certificate in DER.
  ///
  /// - Parameter der: The bytes of the certificate.
  /// - Throws: `badSecurityPolicy` if the bytes are not a certificate.
  public init(der: Data) throws(HTTPError) {
    guard let handle = CertificateHandle(der: der), handle.der.count == der.count, let key = handle.publicKey else {
      throw HTTPError(.badSecurityPolicy, "read certificate", message: "not a certificate in DER")
    }
    self.der = der
    publicKeyHash = key.sha256
  }

  /// Returns all certificates in a PEM text. There may be other text between them.
  ///
  /// - Parameter pem: The text.
  /// - Throws: `badSecurityPolicy` if there is no certificate, or one that cannot be decoded.
  public static func all(pem: String) throws(HTTPError) -> [Certificate] {
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
    var certificates: [Certificate] = []
    for block in pem.components(separatedBy: begin).dropFirst() {
      guard let stop = block.firstRange(of: end),
        let der = Data(base64Encoded: String(block[..<stop.lowerBound]), options: .ignoreUnknownCharacters)
      else { throw HTTPError(.badSecurityPolicy, "read certificate", message: "not a certificate in PEM") }
      certificates.append(try Certificate(der: der))
    }
    guard !certificates.isEmpty else {
      throw HTTPError(.badSecurityPolicy, "read certificate", message: "there is none")
    }
    return certificates
  }

  /// Returns the certificates of a file in DER or PEM, or of all files in a folder whose names end in cer, crt, der or pem.
  ///
  /// - Parameter url: The URL of the file or folder.
  /// - Throws: `fileFailed` if something cannot be read. `badSecurityPolicy` if there is no certificate, or one that cannot be
  ///   decoded.
  public static func load(_ url: URL) throws(HTTPError) -> [Certificate] {
    let path = url.path(percentEncoded: false)
    var isFolder = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder else {
      return try read(path)
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw HTTPError(.fileFailed, "read \(path)")
    }
    var certificates: [Certificate] = []
    for name in names.sorted()
    where ["cer", "crt", "der", "pem"].contains(name.split(separator: ".").last?.lowercased()) {
      certificates += try read(path.hasSuffix("/") ? path + name : "\(path)/\(name)")
    }
    guard !certificates.isEmpty else {
      throw HTTPError(.badSecurityPolicy, "read \(path)", message: "there is no certificate")
    }
    return certificates
  }

  private static func read(_ path: String) throws(HTTPError) -> [Certificate] {
    guard let data = FileManager.default.contents(atPath: path) else { throw HTTPError(file: path, "read") }
    do throws(HTTPError) {
      if let der = try? Certificate(der: data) { return [der] }
      return try all(pem: String(decoding: data, as: UTF8.self))
    } catch {
      throw HTTPError(.badSecurityPolicy, "read \(path)", message: error.message)
    }
  }
}

/// A certificate of OpenSSL. It never leaves this folder.
@safe final class CertificateHandle {
  /// Starts OpenSSL without its cleanup at exit. The cleanup would run while threads of sessions still use OpenSSL, and one
  /// short program of a hundred crashed there. Nothing is lost, because the kernel reclaims the memory.
  ///
  /// Has no effect if the program has used OpenSSL before.
  static let libraryIsStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  let pointer: OpaquePointer

  /// Nil if the bytes are not a certificate.
  init?(der: Data) {
    guard Self.libraryIsStarted else { return nil }
    let pointer = unsafe der.withUnsafeBytes { bytes -> OpaquePointer? in
      var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe d2i_X509(nil, &cursor, bytes.count)
    }
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.pointer = pointer
  }

  deinit { unsafe X509_free(pointer) }

  var der: Data { unsafe Self.der(of: pointer) }
  var publicKey: Data? { unsafe Self.publicKey(of: pointer) }

  static func der(of certificate: OpaquePointer) -> Data {
    unsafe encoded { unsafe i2d_X509(certificate, $0) } ?? Data()
  }

  static func publicKey(of certificate: OpaquePointer) -> Data? {
    guard let key = unsafe X509_get_X509_PUBKEY(certificate) else { return nil }
    return unsafe encoded { unsafe i2d_X509_PUBKEY(key, $0) }
  }

  private static func encoded(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> CInt) -> Data? {
    let length = encode(nil)
    guard length > 0 else { return nil }
    var data = Data(count: Int(length))
    let written = unsafe data.withUnsafeMutableBytes { bytes -> CInt in
      var cursor = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      return unsafe encode(&cursor)
    }
    return written == length ? data : nil
  }
}
