import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct ClientCertificateTests {
  private let authority: CertificateAuthority
  private let policy: SecurityPolicy
  private let server: CertificateAuthority.Pair
  private let client: CertificateAuthority.Pair

  init() throws {
    authority = try CertificateAuthority()
    policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    server = try authority.issue("server", names: "IP:127.0.0.1,DNS:localhost,DNS:*.dev.localhost")
    client = try authority.issue("client", names: "DNS:client.example")
  }

  private func refusal(_ body: () throws -> ClientCertificate) throws -> String {
    let error = try #require(throws: HTTPError.self) { _ = try body() }
    #expect(error.kind == .badSecurityPolicy)
    return error.message
  }

  private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

  // MARK: Reading

  @Test func `PEM is read from files and from text, in one or two pieces, encrypted or not`() throws {
    try authority.openssl("pkey -in client.key -aes256 -passout pass:sesame -out encrypted.key")
    let (certificate, key) = (try text(client.certificate), try text(client.key))
    let encrypted = authority.folder.url("encrypted.key")
    let both = try authority.folder.write(key + certificate, to: "both.pem")
    let expected = try X509Certificate.load(client.certificate)
    for read in [
      try ClientCertificate(pem: certificate, key: key), try ClientCertificate(pem: certificate + key),
      try ClientCertificate(pemFile: both), try ClientCertificate(pemFile: client.certificate, keyFile: client.key),
      try ClientCertificate(pemFile: client.certificate, keyFile: encrypted, passphrase: "sesame"),
    ] {
      #expect(read.chain == expected)
    }
    let chain = try text(authority.chain(client, authority.root).chain)
    #expect(try ClientCertificate(pem: chain, key: key).chain.count == 2)
  }

  @Test func `PEM that cannot be used is refused with what to do`() throws {
    try authority.openssl("pkey -in client.key -aes256 -passout pass:sesame -out encrypted.key")
    let (certificate, key) = (try text(client.certificate), try text(client.key))
    let encrypted = try text(authority.folder.url("encrypted.key"))
    #expect(try refusal { try ClientCertificate(pem: certificate, key: encrypted) }.contains("give its passphrase"))
    for wrong in ["", "open", String(repeating: "x", count: 5_000)] {
      let message = try refusal { try ClientCertificate(pem: certificate, key: encrypted, passphrase: wrong) }
      #expect(message.contains("passphrase of the private key is wrong"), "\(message)")
    }
    #expect(try refusal { try ClientCertificate(pem: certificate) }.contains("no private key"))
    #expect(try refusal { try ClientCertificate(pem: key) }.contains("there is none"))
    let other = try refusal { try ClientCertificate(pem: certificate, key: text(server.key)) }
    #expect(other.contains("not the one of the certificate 'CN=client'"), "\(other)")
    let missing = #expect(throws: HTTPError.self) { try ClientCertificate(pemFile: authority.folder.url("missing")) }
    #expect(missing?.kind == .fileFailed)
  }

  private func pkcs12(_ options: String = "", passphrase: String = "sesame") throws -> Data {
    try authority.openssl(
      "pkcs12 -export -inkey client.key -in client.pem -certfile root.pem -passout pass:\(passphrase) -out client.p12 \(options)"
    )
    return try Data(contentsOf: authority.folder.url("client.p12"))
  }

  @Test func `PKCS 12 is read, also with triple DES and without a passphrase`() throws {
    let expected = try X509Certificate.load(client.certificate) + X509Certificate.load(authority.root.certificate)
    #expect(try ClientCertificate(pkcs12: pkcs12(), passphrase: "sesame").chain == expected)
    #expect(try ClientCertificate(pkcs12: pkcs12(passphrase: ""), passphrase: "").chain == expected)
    let triple = try pkcs12("-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1")
    #expect(try ClientCertificate(pkcs12: triple, passphrase: "sesame").chain == expected)
  }

  @Test func `PKCS 12 that cannot be used is refused with what to do`() throws {
    let data = try pkcs12()
    let wrong = try refusal { try ClientCertificate(pkcs12: data, passphrase: "open") }
    #expect(wrong == "the passphrase of the file is wrong")
    for bytes in [Data(), Data("hello".utf8), data.prefix(40)] {
      let message = try refusal { try ClientCertificate(pkcs12: bytes, passphrase: "sesame") }
      #expect(message.contains("not a file in PKCS #12"), "\(message)")
    }
    let keyless = try pkcs12("-nokeys")
    let message = try refusal { try ClientCertificate(pkcs12: keyless, passphrase: "sesame") }
    #expect(message.contains("no private key"), "\(message)")
  }

  /// Tests RC2 with 40 bits, the cipher that OpenSSL 1 used for every PKCS #12 file.
  @Test func `an old cipher is named, and the advice works`() throws {
    let old = try pkcs12("-legacy")
    let message = try refusal { try ClientCertificate(pkcs12: old, passphrase: "sesame") }
    #expect(message.contains("RC2-40-CBC"), "\(message)")
    #expect(
      message.contains("openssl pkcs12 -legacy -in OLD -out TEMP, then openssl pkcs12 -export -in TEMP -out NEW"),
      "\(message)")
    try authority.openssl("pkcs12 -legacy -in client.p12 -out temp -passin pass:sesame -passout pass:temp")
    try authority.openssl("pkcs12 -export -in temp -out new.p12 -passin pass:temp -passout pass:sesame")
    let new = try Data(contentsOf: authority.folder.url("new.p12"))
    #expect(
      try ClientCertificate(pkcs12: new, passphrase: "sesame").chain.first
        == X509Certificate.load(client.certificate)[0])
  }

  @Test func `random changes of PKCS 12 and of PEM are read or refused`() throws {
    let data = try pkcs12()
    let pem = Array(try (text(client.certificate) + text(client.key)).utf8)
    for _ in 0..<FuzzRounds.count(default: 400) {
      var bytes = data
      for _ in 0..<Int.random(in: 1...3) { bytes[Int.random(in: bytes.indices)] = .random(in: 0...255) }
      _ = try? ClientCertificate(pkcs12: bytes.prefix(.random(in: bytes.count / 2...bytes.count)), passphrase: "sesame")
      var text = pem
      for _ in 0..<Int.random(in: 1...3) { text[Int.random(in: text.indices)] = .random(in: 0...255) }
      _ = try? ClientCertificate(pem: String(decoding: text, as: UTF8.self), passphrase: "x")
    }
  }

  // MARK: Handshakes

  private func session(_ certificates: [String: ClientCertificate]) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.clientCertificates = certificates
    return try HTTPSessionManager(configuration: configuration, policy: policy)
  }

  private func pem() throws -> ClientCertificate {
    try ClientCertificate(pemFile: client.certificate, keyFile: client.key)
  }

  private func get(_ url: URL, _ session: HTTPSessionManager) async throws -> String {
    String(decoding: try await session.data(for: HTTPRequest(.get, to: url)).value, as: UTF8.self)
  }

  @Test(arguments: ["-tls1_2", "-tls1_3"])
  func `openssl s_server is shown the certificate, and says when it misses or refuses it`(version: String) async throws
  {
    let peer = try OpenSSLServer(
      certificate: authority.chain(server),
      options: [version, "-Verify", "2", "-verify_return_error", "-CAfile", authority.root.certificate.path])
    let known = try ClientCertificate(pkcs12: pkcs12(), passphrase: "sesame")
    #expect(try await get(peer.url(), session(["127.0.0.1": known])).contains("CN=client"))
    #expect(try await get(peer.url(), session(["*": pem()])).contains("CN=client"))
    for certificates in [[:], ["localhost": try pem()]] {
      let missing = await #expect(throws: HTTPError.self) { try await get(peer.url(), session(certificates)) }
      #expect(missing?.kind == .clientCertificateRequired, "\(String(describing: missing))")
      #expect(missing?.tlsFailure?.reason == .clientCertificateRequired)
      #expect(missing?.message.contains("127.0.0.1 requires a client certificate") ?? false)
    }
    let other = try CertificateAuthority()
    let stranger = try other.issue("stranger")
    let unknown = try ClientCertificate(pemFile: stranger.certificate, keyFile: stranger.key)
    let refused = await #expect(throws: HTTPError.self) { try await get(peer.url(), session(["*": unknown])) }
    #expect(refused?.kind == .clientCertificateRejected, "\(String(describing: refused))")
    #expect(refused?.tlsFailure?.reason == .clientCertificateRejected)
  }

  @Test func `each host gets its own certificate, and no other host any`() async throws {
    let chain = try authority.chain(server)
    let peer = try NginxServer(
      server: """
        ssl_verify_client optional; ssl_client_certificate \(authority.root.certificate.path);
        location = /who { default_type text/plain; return 200 "$ssl_client_s_dn"; }
        """, certificate: chain)
    let second = try authority.issue("second", names: "DNS:second.example")
    let session = try session([
      "a.dev.localhost": pem(), "*.localhost": ClientCertificate(pemFile: second.certificate, keyFile: second.key),
    ])
    for _ in 0..<2 {
      for (host, name) in [("a.dev.localhost", "CN=client"), ("b.dev.localhost", "CN=second"), ("127.0.0.1", "")] {
        #expect(try await get(peer.tlsURL(host: host).appending(path: "who"), session) == name, "\(host)")
      }
    }
  }

  @Test func `a table of certificates that cannot be used is refused when the session is made`() throws {
    let certificate = try pem()
    let error = #expect(throws: HTTPError.self) { try session(["https://localhost": certificate]) }
    #expect(error?.kind == .badSecurityPolicy)
  }
}
