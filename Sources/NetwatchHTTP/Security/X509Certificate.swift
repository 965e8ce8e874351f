import CLibOpenSSL
import FoundationEssentials
import Netwatch
import NetwatchLibC

/// A certificate to pin, or to trust as a root. Two are equal if their bytes are equal.
public struct X509Certificate: Hashable, Sendable {
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
  public static func all(pem: String) throws(HTTPError) -> [X509Certificate] {
    try pem.pemBlocks(
      "CERTIFICATE", "read certificate", otherwise: "not a certificate in PEM", X509Certificate.init(der:))
  }

  /// Returns the certificates of a file in DER or PEM, or of all files in a folder whose names end in cer, crt, der or pem.
  ///
  /// - Parameter url: The URL of the file or folder.
  /// - Throws: `fileFailed` if something cannot be read. `badSecurityPolicy` if there is no certificate, or one that cannot be
  ///   decoded.
  public static func load(_ url: URL) throws(HTTPError) -> [X509Certificate] {
    let path = url.path(percentEncoded: false)
    var isFolder = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder else {
      return try read(path)
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw HTTPError(.fileFailed, "read \(path)")
    }
    var certificates: [X509Certificate] = []
    for name in names.sorted()
    where ["cer", "crt", "der", "pem"].contains(name.split(separator: ".").last?.lowercased()) {
      certificates += try read(path.hasSuffix("/") ? path + name : "\(path)/\(name)")
    }
    guard !certificates.isEmpty else {
      throw HTTPError(.badSecurityPolicy, "read \(path)", message: "there is no certificate")
    }
    return certificates
  }

  private static func read(_ path: String) throws(HTTPError) -> [X509Certificate] {
    guard let data = FileManager.default.contents(atPath: path) else { throw HTTPError(file: path, "read") }
    do throws(HTTPError) {
      if let der = try? X509Certificate(der: data) { return [der] }
      return try all(pem: String(decoding: data, as: UTF8.self))
    } catch {
      throw HTTPError(.badSecurityPolicy, "read \(path)", message: error.message)
    }
  }
}

extension String {
  /// Decodes the blocks of a kind in a PEM text. There may be other text between them.
  ///
  /// - Parameters:
  ///   - label: The kind, such as `CERTIFICATE`.
  ///   - operation: The operation for the errors, such as `read certificate`.
  ///   - fault: The message about a block without an end, or that is not Base64.
  ///   - value: Decodes the DER of a block.
  /// - Throws: `badSecurityPolicy` if there is no block, or one that cannot be decoded.
  func pemBlocks<Value>(
    _ label: String, _ operation: String, otherwise fault: String, _ value: (Data) throws(HTTPError) -> Value
  ) throws(HTTPError) -> [Value] {
    var values: [Value] = []
    for block in components(separatedBy: "-----BEGIN \(label)-----").dropFirst() {
      guard let stop = block.firstRange(of: "-----END \(label)-----"),
        let der = Data(base64Encoded: String(block[..<stop.lowerBound]), options: .ignoreUnknownCharacters)
      else { throw HTTPError(.badSecurityPolicy, operation, message: fault) }
      values.append(try value(der))
    }
    guard !values.isEmpty else { throw HTTPError(.badSecurityPolicy, operation, message: "there is none") }
    return values
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

/// Facts that are read from a certificate.
extension CertificateHandle {
  /// A limit, because a certificate can have thousands of names.
  private static let mostNames = 20

  static func facts(of certificate: OpaquePointer?) -> TLSFailure.Facts {
    guard let certificate = unsafe certificate else { return TLSFailure.Facts() }
    return unsafe TLSFailure.Facts(
      subject: text(of: X509_get_subject_name(certificate)), issuer: text(of: X509_get_issuer_name(certificate)),
      names: names(in: certificate), validFrom: date(of: X509_get0_notBefore(certificate)),
      validUntil: date(of: X509_get0_notAfter(certificate)))
  }

  /// Returns the name as text. Control characters and non-ASCII characters are escaped.
  private static func text(of name: OpaquePointer?) -> String {
    guard let name = unsafe name, let output = unsafe BIO_new(BIO_s_mem()) else { return "" }
    defer { unsafe BIO_free(output) }
    guard unsafe X509_NAME_print_ex(output, name, 0, netwatch_ssl_rfc2253) >= 0 else { return "" }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = unsafe BIO_read(output, &bytes, CInt(bytes.count))
    return String(decoding: bytes.prefix(max(Int(count), 0)), as: UTF8.self)
  }

  private static func names(in certificate: OpaquePointer) -> [String] {
    guard let list = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) else { return [] }
    let stack = OpaquePointer(list)
    defer { unsafe GENERAL_NAMES_free(stack) }
    var names: [String] = []
    for index in 0..<(unsafe OPENSSL_sk_num(stack)) where names.count < mostNames {
      guard let item = unsafe OPENSSL_sk_value(stack, index) else { continue }
      var kind = CInt(0)
      let value = unsafe GENERAL_NAME_get0_value(item.assumingMemoryBound(to: GENERAL_NAME.self), &kind)
      guard kind == GEN_DNS || kind == GEN_IPADD, let value = unsafe value else { continue }
      let bytes = unsafe self.bytes(of: value.assumingMemoryBound(to: ASN1_STRING.self))
      if let name = kind == GEN_DNS ? host(bytes) : address(bytes) { names.append(name) }
    }
    return names
  }

  private static func bytes(of string: UnsafePointer<ASN1_STRING>) -> [UInt8] {
    guard let start = unsafe ASN1_STRING_get0_data(string) else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: start, count: max(Int(ASN1_STRING_length(string)), 0)))
  }

  private static func host(_ bytes: [UInt8]) -> String? {
    bytes.count <= 255 && bytes.allSatisfy { 0x21...0x7e ~= $0 } ? String(decoding: bytes, as: UTF8.self) : nil
  }

  private static func address(_ bytes: [UInt8]) -> String? {
    switch bytes.count {
    case 4: InternetAddress.v4(bytes.reduce(0) { $0 << 8 | UInt32($1) }).description
    case 16: InternetAddress.v6(bytes.reduce(0) { $0 << 8 | UInt128($1) }).description
    default: nil
    }
  }

  private static func date(of time: UnsafePointer<ASN1_TIME>?) -> Date? {
    var parts = unsafe tm()
    guard let time = unsafe time, unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
    return Date(timeIntervalSince1970: Double(unsafe timegm(&parts)))
  }

  /// Whether a certificate is for a host (RFC 9525). As in libcurl, its common name only counts if it has no other names, for
  /// the certificates of devices.
  ///
  /// - Parameter host: The host as ``HostName/canonical(_:)`` writes it.
  static func isFor(_ host: String, _ certificate: OpaquePointer) -> Bool {
    if InternetAddress(host) == nil {
      return unsafe X509_check_host(certificate, host, host.utf8.count, 0, nil) == 1
    }
    if unsafe X509_check_ip_asc(certificate, host, 0) == 1 { return true }
    return unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0
      && X509_check_host(certificate, host, host.utf8.count, 0, nil) == 1
  }
}
