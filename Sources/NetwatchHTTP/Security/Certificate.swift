import CLibOpenSSL
import FoundationEssentials

/// A certificate to pin, or a root. Known by its bytes.
public struct Certificate: Hashable, Sendable {
  public let der: Data
  /// The SHA-256 of its key with the key's algorithm. A renewed certificate may have the same.
  let publicKeyHash: Data

  /// - Throws: `badSecurityPolicy` for what is no certificate.
  public init(der: Data) throws(HTTPError) {
    guard let handle = CertificateHandle(der: der), handle.der.count == der.count, let key = handle.publicKey else {
      throw HTTPError(.badSecurityPolicy, "read certificate", message: "not a certificate in DER")
    }
    self.der = der
    publicKeyHash = key.sha256
  }

  /// All certificates in `pem`, which may have text between them.
  ///
  /// - Throws: `badSecurityPolicy` where there is none, or one that cannot be decoded.
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

  /// The certificates of a file, DER or PEM, or of all files of a folder whose name ends in cer, crt, der or pem.
  ///
  /// - Throws: `fileFailed` for what cannot be read, `badSecurityPolicy` for what cannot be decoded, or where there is none.
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
  /// Begins with OpenSSL, so that it does not clean up when the program exits: it would under the threads of sessions that
  /// have not ended yet, and one short program of a hundred crashed there. Nothing is lost, since the kernel takes the memory.
  /// Does nothing where the program has used OpenSSL before.
  static let libraryIsStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  let pointer: OpaquePointer

  /// Nil for what is no certificate.
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
