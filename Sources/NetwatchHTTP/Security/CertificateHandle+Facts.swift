import CLibOpenSSL
import FoundationEssentials
import Glibc
import Netwatch

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
    case 4: IPAddress.v4(bytes.reduce(0) { $0 << 8 | UInt32($1) }).description
    case 16: IPAddress.v6(bytes.reduce(0) { $0 << 8 | UInt128($1) }).description
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
    if IPAddress(host) == nil {
      return unsafe X509_check_host(certificate, host, host.utf8.count, 0, nil) == 1
    }
    if unsafe X509_check_ip_asc(certificate, host, 0) == 1 { return true }
    return unsafe X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0
      && X509_check_host(certificate, host, host.utf8.count, 0, nil) == 1
  }
}
