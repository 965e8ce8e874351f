import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct PublicKeyPinTests {
  private let authority: CertificateAuthority
  private let leaf: CertificateAuthority.Pair
  /// The pin that `openssl` makes with the commands in the manual of curl.
  private let expected: String

  init() throws {
    authority = try CertificateAuthority()
    leaf = try authority.issue("leaf")
    try authority.openssl("pkey -in \(leaf.key.path) -pubout -outform DER -out leaf.pub")
    try authority.openssl("dgst -sha256 -binary -out leaf.hash leaf.pub")
    expected = try authority.openssl("base64 -in leaf.hash").trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test func `a pin of a certificate, of its key and of openssl's hash are the same`() throws {
    let ofCertificate = PublicKeyPin(try X509Certificate.load(leaf.certificate)[0])
    #expect(ofCertificate.description == "sha256/\(expected)")
    #expect(try PublicKeyPin(publicKeyDER: Data(contentsOf: authority.folder.url("leaf.pub"))) == ofCertificate)
    #expect(try PublicKeyPin("sha256/\(expected)") == ofCertificate)
    #expect(try PublicKeyPin("sha256//\(expected)") == ofCertificate)
  }

  /// Tests a slash at the beginning of a hash, because the slash is one of the digits of base64.
  @Test func `a hash that begins with a slash is read as it is`() throws {
    let hash = Data([0xfc] + [UInt8](repeating: 7, count: 31))
    let text = hash.base64EncodedString()
    #expect(text.hasPrefix("/"))
    #expect(try PublicKeyPin("sha256/\(text)").sha256 == hash)
    #expect(try PublicKeyPin("sha256//\(text)").sha256 == hash)
  }

  @Test(arguments: [
    "", "sha256", "sha256/", "sha256//", "sha1/AAAA", "sha256/AAAA", "SHA256/\(String(repeating: "A", count: 43))=",
    "sha256/\(String(repeating: "A", count: 44))", "sha256/\(String(repeating: "A", count: 42))==",
    "sha256///\(String(repeating: "A", count: 43))=", " sha256/\(String(repeating: "A", count: 43))=",
  ])
  func `a text that is no pin is refused with what to write`(text: String) {
    let error = #expect(throws: HTTPError.self) { try PublicKeyPin(text) }
    #expect(error?.kind == .badSecurityPolicy)
    #expect(error?.message.contains("write sha256/") ?? false)
  }

  @Test func `what is no key in DER is refused`() throws {
    let key = try Data(contentsOf: authority.folder.url("leaf.pub"))
    let certificate = try X509Certificate.load(leaf.certificate)[0].der
    for bytes in [Data(), Data([0x30]), key.dropLast(), key + [0], certificate] {
      let error = #expect(throws: HTTPError.self) { try PublicKeyPin(publicKeyDER: bytes) }
      #expect(error?.kind == .badSecurityPolicy)
    }
  }

  @Test func `random changes of a pin and of a key are read or refused`() throws {
    let key = try Data(contentsOf: authority.folder.url("leaf.pub"))
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      var bytes = key
      bytes[Int.random(in: bytes.indices)] = .random(in: 0...255)
      _ = try? PublicKeyPin(publicKeyDER: bytes.prefix(.random(in: 0...bytes.count)))
      var text = Array("sha256/\(expected)".unicodeScalars)
      text[Int.random(in: text.indices)] = "Aa/=+ \u{e9}\0-_".unicodeScalars.randomElement() ?? "A"
      let string = text.reduce(into: "") { $0.unicodeScalars.append($1) }
      if let pin = try? PublicKeyPin(string) { #expect(pin.sha256.count == 32) }
    }
  }
}
