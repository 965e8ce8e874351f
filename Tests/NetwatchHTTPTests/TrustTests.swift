import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of pins of keys, policies by host, versions of TLS, and descriptions of failures.
@Suite(.timeLimit(.minutes(5))) struct TrustTests {
  private let authority: CertificateAuthority
  private let roots: SecurityPolicy.Roots
  private let leaf: CertificateAuthority.Pair

  init() throws {
    authority = try CertificateAuthority()
    leaf = try authority.issue(
      "leaf", names: "IP:127.0.0.1,DNS:localhost,DNS:*.dev.localhost,DNS:xn--bcher-kva.dev.localhost,DNS:dot.invalid")
    roots = .certificates(try X509Certificate.load(authority.root.certificate))
  }

  private func certificate(_ pair: CertificateAuthority.Pair) throws -> X509Certificate {
    try X509Certificate.load(pair.certificate)[0]
  }

  private func trusting() throws -> SecurityPolicy { try SecurityPolicy(.none, roots: roots) }

  private func get(_ url: URL, _ session: HTTPSessionManager) async throws -> HTTPReply<Data> {
    try await session.data(for: HTTPRequest(.get, to: url))
  }

  private func failure(_ url: URL, _ session: HTTPSessionManager) async throws -> HTTPError {
    try #require(await #expect(throws: HTTPError.self) { try await get(url, session) })
  }

  // MARK: Pins of keys

  @Test func `a chain with a pinned key is trusted, and one without is told apart by its keys`() async throws {
    let server = try NginxServer(certificate: authority.chain(leaf))
    let stranger = PublicKeyPin(try certificate(authority.issue("stranger")))
    for pinned in [leaf, authority.root] {
      let policy = try SecurityPolicy(
        .publicKey, keyPins: [stranger, PublicKeyPin(certificate(pinned))], roots: roots)
      #expect(try await get(server.tlsURL(), HTTPSessionManager(policy: policy)).response.status.code == 403)
    }
    let error = try await failure(
      server.tlsURL(), HTTPSessionManager(policy: SecurityPolicy(.publicKey, keyPins: [stranger], roots: roots)))
    #expect(error.kind == .serverCertificateUntrusted)
    #expect(error.tlsFailure?.reason == .noPinMatched)
    for pair in [leaf, authority.root] {
      #expect(error.message.contains(PublicKeyPin(try certificate(pair)).description), "\(error.message)")
    }
  }

  @Test func `pins of keys want their mode`() throws {
    let pin = PublicKeyPin(try certificate(leaf))
    for mode in [SecurityPolicy.PinningMode.none, .certificate] {
      let error = #expect(throws: HTTPError.self) {
        try SecurityPolicy(mode, pins: mode == .none ? [] : [certificate(leaf)], keyPins: [pin])
      }
      #expect(error?.kind == .badSecurityPolicy)
    }
  }

  // MARK: Policies by host

  @Test func `each host is judged by its own policy, also after a redirect`() async throws {
    let server = try NginxServer(
      server: "location = /away { return 302 $arg_to; }", certificate: authority.chain(leaf))
    let stranger = PublicKeyPin(try certificate(authority.issue("stranger")))
    let (good, bad) = (
      try SecurityPolicy(.publicKey, keyPins: [PublicKeyPin(certificate(leaf))], roots: roots),
      try SecurityPolicy(.publicKey, keyPins: [stranger], roots: roots)
    )
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies = [
      "good.dev.localhost": good, "*.localhost": bad, "bücher.dev.localhost": good, "127.0.0.1": bad,
      "localhost": try trusting(),
    ]
    let session = try HTTPSessionManager(configuration: configuration)
    func url(_ host: String, _ path: String = "method") -> URL { server.tlsURL(host: host).appending(path: path) }
    // In the second round, the connections already exist.
    for _ in 0..<2 {
      for host in [
        "good.dev.localhost", "GOOD.dev.localhost", "xn--bcher-kva.dev.localhost", "bücher.dev.localhost", "localhost",
      ] {
        #expect(try await get(url(host), session).value == Data("GET".utf8), "\(host)")
      }
      for host in [
        "bad.localhost", "bad.dev.localhost", "x.good.dev.localhost", "127.0.0.1", "127.1", "0x7f000001", "2130706433",
      ] {
        let error = try await failure(url(host), session)
        #expect(error.tlsFailure?.reason == .noPinMatched, "\(host): \(error)")
      }
      let away = URL(
        string: "\(url("good.dev.localhost", "away").absoluteString)?to=\(url("bad.localhost").absoluteString)")!
      let error = try await failure(away, session)
      #expect(error.tlsFailure?.reason == .noPinMatched)
      #expect(error.tlsFailure?.host == "bad.localhost")
    }
    // Other hosts have the session's policy, which does not know this root.
    configuration.addressOverrides = ["other.invalid": [InternetAddress("127.0.0.1")!]]
    let other = try await failure(url("other.invalid"), HTTPSessionManager(configuration: configuration))
    #expect(other.tlsFailure?.reason == .unknownAuthority)
  }

  @Test func `a name with a dot at its end has the policy of the name`() async throws {
    let server = try NginxServer(certificate: authority.chain(leaf))
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies = [
      "dot.invalid": try SecurityPolicy(.certificate, pins: [certificate(authority.issue("x"))])
    ]
    configuration.addressOverrides = ["dot.invalid": [.v4(0x7f00_0001)]]
    let session = try HTTPSessionManager(configuration: configuration, policy: trusting())
    for host in ["dot.invalid", "dot.invalid.", "DOT.invalid."] {
      let error = try await failure(server.tlsURL(host: host), session)
      #expect(error.tlsFailure?.reason == .noPinMatched, "\(host): \(error)")
    }
  }

  @Test func `hosts without a policy are refused before anything is sent, with https and without`() async throws {
    let server = try NginxServer(
      server: "location = /away { return 302 https://localhost:1/; }", certificate: authority.chain(leaf))
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies = ["127.0.0.1": try trusting()]
    configuration.refusesHostsWithoutPolicy = true
    let session = try HTTPSessionManager(configuration: configuration, policy: trusting())
    #expect(try await get(server.tlsURL().appending(path: "method"), session).response.status == .ok)
    #expect(try await get(server.url.appending(path: "method"), session).response.status == .ok)
    let plain = try #require(URL(string: "http://localhost:\(server.url.port ?? 0)/method"))
    for url in [server.tlsURL(host: "localhost"), plain] {
      let error = try await failure(url, session)
      #expect(error.kind == .serverCertificateUntrusted)
      #expect(error.tlsFailure?.reason == .noPolicyForHost)
    }
    #expect(try await failure(server.tlsURL().appending(path: "away"), session).kind == .badURL)
    #expect(try await server.log(lines: 3).count == 3)
  }

  @Test func `a pinned host is asked nothing without TLS, and other hosts are`() async throws {
    let server = try NginxServer()
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies = ["127.0.0.1": try SecurityPolicy(.certificate, pins: [certificate(leaf)])]
    let session = try HTTPSessionManager(configuration: configuration)
    #expect(try await failure(server.url, session).kind == .badURL)
    let other = try #require(URL(string: "http://localhost:\(server.url.port ?? 0)/method"))
    #expect(try await get(other, session).response.status == .ok)
  }

  @Test func `a base URL is refused or allowed by the policy of its host`() throws {
    let pinned = try SecurityPolicy(.certificate, pins: [certificate(leaf)])
    func start(_ base: String, _ hostPolicies: [String: SecurityPolicy], refuses: Bool = false) throws(HTTPError) {
      var configuration = HTTPSessionConfiguration()
      configuration.hostPolicies = hostPolicies
      configuration.refusesHostsWithoutPolicy = refuses
      _ = try HTTPSessionManager(baseURL: URL(string: base), configuration: configuration, policy: pinned)
    }
    #expect(throws: Never.self) { try start("http://a.invalid/", ["a.invalid": .system]) }
    #expect(throws: Never.self) { try start("https://b.invalid/", ["a.invalid": .system]) }
    for (base, refuses) in [("http://b.invalid/", false), ("https://b.invalid/", true)] {
      let error = #expect(throws: HTTPError.self) { try start(base, ["a.invalid": .system], refuses: refuses) }
      #expect(error?.kind == .badSecurityPolicy, "\(base)")
    }
  }

  @Test func `a table of policies that cannot be used is refused when the session is made`() throws {
    for key in ["*", "", "https://example.org", "*.192.0.2.1"] {
      var configuration = HTTPSessionConfiguration()
      configuration.hostPolicies = [key: .system]
      let error = #expect(throws: HTTPError.self) { try HTTPSessionManager(configuration: configuration) }
      #expect(error?.kind == .badSecurityPolicy, "\(key)")
    }
  }

  // MARK: Versions

  @Test func `versions of TLS that the session does not allow are not spoken`() async throws {
    let chain = try authority.chain(leaf)
    for (option, version) in [("-tls1_2", TLSVersion.v1_2), ("-tls1_3", .v1_3)] {
      let server = try OpenSSLServer(certificate: chain, options: [option])
      for allowed in [TLSVersion.v1_2, .v1_3] {
        var configuration = HTTPSessionConfiguration()
        configuration.minimumTLSVersion = allowed
        configuration.maximumTLSVersion = allowed
        let session = try HTTPSessionManager(configuration: configuration, policy: trusting())
        if allowed == version {
          let page = try await get(server.url(), session).value
          #expect(String(decoding: page, as: UTF8.self).contains("TLSv1.\(version == .v1_2 ? 2 : 3)"))
        } else {
          let error = try await failure(server.url(), session)
          #expect(error.kind == .secureConnectionFailed)
          #expect(error.tlsFailure?.reason == .versionRefused, "\(error)")
        }
      }
    }
  }

  /// Tests TLS 1.1, which the OpenSSL of the test speaks only at security level 0.
  @Test func `TLS 1.1 is never spoken`() async throws {
    let server = try OpenSSLServer(
      certificate: authority.chain(leaf), options: ["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"])
    let error = try await failure(server.url(), HTTPSessionManager(policy: trusting()))
    #expect(error.tlsFailure?.reason == .versionRefused, "\(error)")
  }

  @Test func `a newest version below the oldest is refused`() throws {
    var configuration = HTTPSessionConfiguration()
    configuration.minimumTLSVersion = .v1_3
    configuration.maximumTLSVersion = .v1_2
    let error = #expect(throws: HTTPError.self) { try HTTPSessionManager(configuration: configuration) }
    #expect(error?.kind == .badConfiguration)
  }

  // MARK: Descriptions of failures

  /// Expects the same result of a handshake with `openssl s_server` and of ``SecurityPolicy/evaluate(_:for:)``.
  private func expect(
    _ reason: TLSFailure.Reason?, _ chain: [CertificateAuthority.Pair], _ policy: SecurityPolicy,
    host: String = "127.0.0.1", says words: [String] = [], _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let files = try authority.chain(of: chain)
    let server = try OpenSSLServer(certificate: files)
    let session = try HTTPSessionManager(policy: policy)
    let certificates = try chain.map { try certificate($0) }
    guard let reason else {
      #expect(try await get(server.url(host: host), session).response.status == .ok, sourceLocation: location)
      #expect(throws: Never.self, sourceLocation: location) { try policy.evaluate(certificates, for: host) }
      return
    }
    let handshake = try await failure(server.url(host: host), session)
    let judgement = try #require(throws: HTTPError.self) { try policy.evaluate(certificates, for: host) }
    #expect(handshake.tlsFailure == judgement.tlsFailure, sourceLocation: location)
    for error in [handshake, judgement] {
      #expect(error.kind == .serverCertificateUntrusted, sourceLocation: location)
      #expect(error.tlsFailure?.reason == reason, "\(error)", sourceLocation: location)
      for word in words { #expect(error.message.contains(word), "\(error.message)", sourceLocation: location) }
    }
  }

  @Test func `a handshake and a call judge alike, and say what is wrong with names and dates`() async throws {
    let policy = try trusting()
    try await expect(nil, [leaf], policy)
    try await expect(nil, [leaf, authority.root], policy, host: "LOCALHOST")
    let year = String(Calendar.current.component(.year, from: Date()))
    try await expect(
      .certificateExpired, [authority.issue("expired", days: -20 ... -10)], policy, says: ["CN=expired", "Z"])
    try await expect(
      .certificateNotYetValid, [authority.issue("early", days: 10...20)], policy,
      says: ["CN=early", "\(year.prefix(3))"])
    let elsewhere = try authority.issue("elsewhere", names: "DNS:a.example,IP:192.0.2.7")
    try await expect(.nameMismatch, [elsewhere], policy, says: ["a.example, 192.0.2.7", "not for 127.0.0.1"])
    try await expect(.nameMismatch, [leaf], policy, host: "a.b.dev.localhost", says: ["not for a.b.dev.localhost"])
    try await expect(nil, [elsewhere], SecurityPolicy(.none, roots: roots, validatesDomainName: false))
    try await expect(.unknownAuthority, [leaf], .system, says: ["CN=leaf", "'CN=Test Root'"])
    let own = try authority.issueSelfSigned("own")
    try await expect(.selfSigned, [own], policy, says: ["CN=own"])
    try await expect(.noPinMatched, [leaf], SecurityPolicy(.certificate, pins: [certificate(own)]), says: ["CN=leaf"])
    try await expect(nil, [leaf], SecurityPolicy(.certificate, pins: [certificate(leaf)]))
    try await expect(nil, [own], SecurityPolicy(.publicKey, pins: [certificate(own)], allowsInvalidCertificates: true))
    // Another root with the same name has signed this certificate.
    let other = try CertificateAuthority()
    let forged = try other.issue("forged")
    try await expect(.unknownAuthority, [forged], policy, says: ["CN=forged"])
    // The certificate of a server cannot sign other certificates.
    let below = try authority.issue("below", by: leaf)
    try await expect(.certificateInvalid, [below, leaf], policy, says: ["CN=leaf", "invalid CA certificate"])
  }

  @Test func `a failure says whom the certificate is for, who has signed it, and until when`() throws {
    let expired = try authority.issue("expired", names: "DNS:a.example,DNS:b.example", days: -20 ... -10)
    let error = try #require(throws: HTTPError.self) {
      try trusting().evaluate([certificate(expired)], for: "a.example")
    }
    let failure = try #require(error.tlsFailure)
    #expect(failure.host == "a.example")
    #expect(failure.subject == "CN=expired")
    #expect(failure.issuer == "CN=Test Root")
    #expect(failure.names == ["a.example", "b.example"])
    let end = try #require(failure.validUntil)
    #expect(abs(end.timeIntervalSinceNow + 10 * 86_400) < 600)
    #expect(try #require(failure.validFrom) < end)
  }

  @Test func `a common name counts if there are no other names`() throws {
    let certificate = try authority.issueNamedOnly("192.0.2.7")
    #expect(throws: Never.self) { try trusting().evaluate([certificate], for: "192.0.2.7") }
    #expect(throws: HTTPError.self) { try trusting().evaluate([certificate], for: "192.0.2.8") }
  }

  @Test func `an empty chain and what is no host are refused`() throws {
    #expect(throws: HTTPError.self) { try trusting().evaluate([], for: "localhost") }
    let error = #expect(throws: HTTPError.self) { try trusting().evaluate([certificate(leaf)], for: "a b") }
    #expect(error?.kind == .badURL)
  }

  @Test func `an alert that says nothing of certificates ends the handshake with its name`() async throws {
    // This server has no cipher in common with the session (RFC 5246, section 7.2.2).
    let server = try OpenSSLServer(
      certificate: authority.chain(leaf), options: ["-tls1_2", "-cipher", "PSK"])
    let error = try await failure(server.url(), HTTPSessionManager(policy: trusting()))
    #expect(error.kind == .secureConnectionFailed)
    #expect(error.tlsFailure?.reason == .handshakeRefused, "\(error)")
    #expect(error.message.contains("handshake failure"), "\(error)")
  }

  @Test(arguments: [
    ("error:0A00042E:SSL routines::tlsv1 alert protocol version", 1_070),
    ("TLS connect error: error:0A00042E:SSL routines::tlsv1 alert protocol version", 1_070),
    ("TLS connect error: error:0A000102:SSL routines::unsupported protocol", 258),
    ("TLS connect error: error:16000069:STORE routines::unregistered scheme", nil),
    ("TLS connect error: none", nil),
  ])
  func `the words of each libcurl give OpenSSL's number`(words: String, number: Int?) {
    #expect(CurlEasy.reason(in: words) == number)
  }
}
