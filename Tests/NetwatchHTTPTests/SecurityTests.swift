import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct SecurityTests {
  private let authority: CertificateAuthority
  private let roots: SecurityPolicy.Roots
  private let leaf: CertificateAuthority.Pair

  init() throws {
    authority = try CertificateAuthority()
    leaf = try authority.issue("leaf")
    roots = .certificates(try X509Certificate.load(authority.root.certificate))
  }

  private func pin(_ pair: CertificateAuthority.Pair) throws -> [X509Certificate] {
    try X509Certificate.load(pair.certificate)
  }

  /// Sends a body, and checks what the server has received of it.
  private func upload(
    to chain: (chain: URL, key: URL), _ policy: SecurityPolicy, host: String = "127.0.0.1", isTrusted: Bool,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let server = try NginxServer(certificate: chain)
    let session = try HTTPSessionManager(baseURL: server.tlsURL(host: host), policy: policy)
    let request = try HTTPRequest(.put, to: session.url(for: "upload/file"))
    do throws(HTTPError) {
      let reply = try await session.upload(.data(Data("secret".utf8)), with: request)
      #expect(isTrusted, "it was not refused", sourceLocation: location)
      #expect(reply.response.status == .created, sourceLocation: location)
      #expect(reply.metrics.protocolVersion == "2", sourceLocation: location)
    } catch {
      #expect(!isTrusted, "\(error)", sourceLocation: location)
      #expect(error.kind == .serverCertificateUntrusted, "\(error)", sourceLocation: location)
      // The server has got no PUT. The connections by which the test finds out whether the server is up send no
      // requests.
      session.invalidate()
      await session.waitUntilInvalidated()
      let seen = try String(contentsOf: server.folder.url("access.log"), encoding: .utf8)
      #expect(!seen.contains("PUT"), sourceLocation: location)
      let body = server.folder.url("files/upload/file").path
      #expect(!FileManager.default.fileExists(atPath: body), sourceLocation: location)
    }
  }

  // MARK: No pins

  @Test func `a chain to a root and the right name are trusted`() async throws {
    try await upload(to: authority.chain(leaf), SecurityPolicy(.none, roots: roots), isTrusted: true)
    try await upload(to: authority.chain(leaf), SecurityPolicy(.none, roots: roots), host: "localhost", isTrusted: true)
  }

  @Test func `a root that the system does not have is not trusted`() async throws {
    try await upload(to: authority.chain(leaf), .system, isTrusted: false)
  }

  @Test func `the system's certificates are read and parsed once, not for each connection`() async throws {
    let server = try NginxServer(certificate: authority.chain(leaf))
    let session = try HTTPSessionManager()
    /// Returns the number of bytes that the session's thread has read from files so far (proc(5), `rchar`). Bytes from
    /// sockets do not count.
    func bytes() async throws -> Int {
      let text = try await withCheckedThrowingContinuation { continuation in
        session.engines.handles[0].run { _ in
          continuation.resume(
            with: Result { try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8) })
        }
      }
      return try #require(text.firstMatch(of: /rchar: (\d+)/).flatMap { Int($0.1) })
    }
    let request = try HTTPRequest(.get, to: server.tlsURL())
    func connect() async {
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
      #expect(error?.kind == .serverCertificateUntrusted)
    }
    let began = try await bytes()
    await connect()
    let first = try await bytes() - began
    for _ in 0..<20 { await connect() }
    let others = try await bytes() - began - first
    // libcurl 8.21 and 8.22 keep no parsed certificates if they were built with a folder of certificates
    // (curl/curl#21901).
    let keepsNone = (0x08_1500..<0x08_1700).contains(CurlLibrary.version)
    // The system's file contains more than a hundred certificates.
    #expect(
      first > 100_000 && (others < first || keepsNone),
      "\(first) bytes for the first connection, \(others) for twenty others")
  }

  @Test func `a chain through another authority is trusted when it is whole`() async throws {
    let middle = try authority.issue("middle", isAuthority: true)
    let leaf = try authority.issue("below", by: middle)
    try await upload(to: authority.chain(leaf, middle), SecurityPolicy(.none, roots: roots), isTrusted: true)
    try await upload(to: authority.chain(leaf), SecurityPolicy(.none, roots: roots), isTrusted: false)
  }

  @Test func `a wrong name is refused, unless names do not matter`() async throws {
    let leaf = try authority.issue("elsewhere", names: "DNS:elsewhere.example")
    try await upload(to: authority.chain(leaf), SecurityPolicy(.none, roots: roots), isTrusted: false)
    try await upload(
      to: authority.chain(leaf), SecurityPolicy(.none, roots: roots, validatesDomainName: false), isTrusted: true)
  }

  @Test func `a wildcard stands for one label`() async throws {
    let good = try authority.issue("wild", names: "DNS:*.dev.localhost")
    let policy = try SecurityPolicy(.none, roots: roots)
    try await upload(to: authority.chain(good), policy, host: "a.dev.localhost", isTrusted: true)
    try await upload(to: authority.chain(good), policy, host: "a.b.dev.localhost", isTrusted: false)
  }

  @Test(arguments: [-20 ... -10, 10...20])
  func `a certificate that has expired, or is not yet valid, is refused`(days: ClosedRange<Int>) async throws {
    let leaf = try authority.issue("outdated", days: days)
    try await upload(to: authority.chain(leaf), SecurityPolicy(.none, roots: roots), isTrusted: false)
    // A pin of the key does not make this certificate valid.
    try await upload(
      to: authority.chain(leaf), SecurityPolicy(.publicKey, pins: pin(leaf), roots: roots), isTrusted: false)
    try await upload(to: authority.chain(leaf), SecurityPolicy(.certificate, pins: pin(leaf)), isTrusted: false)
    // `allowsInvalidCertificates` makes the pinned key sufficient, but not the pinned certificate, as in AFNetworking.
    for mode in [SecurityPolicy.PinningMode.publicKey, .certificate] {
      try await upload(
        to: authority.chain(leaf), SecurityPolicy(mode, pins: pin(leaf), allowsInvalidCertificates: true),
        isTrusted: mode == .publicKey)
    }
  }

  @Test func `whoever trusts everybody has to say so twice`() async throws {
    let error = #expect(throws: HTTPError.self) { try SecurityPolicy(.none, allowsInvalidCertificates: true) }
    #expect(error?.kind == .badSecurityPolicy)
    let own = try authority.issueSelfSigned("own", names: "DNS:elsewhere.example")
    let policy = try SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false)
    try await upload(to: authority.chain(own), policy, isTrusted: true)
  }

  // MARK: Pins of keys

  @Test func `some key of the chain is pinned`() async throws {
    let middle = try authority.issue("middle", isAuthority: true)
    let below = try authority.issue("below", by: middle)
    let chain = try authority.chain(below, middle)
    for pair in [below, middle, authority.root] {
      try await upload(to: chain, SecurityPolicy(.publicKey, pins: pin(pair), roots: roots), isTrusted: true)
    }
    try await upload(to: chain, SecurityPolicy(.publicKey, pins: pin(leaf), roots: roots), isTrusted: false)
  }

  @Test func `a renewed certificate with the same key goes on being trusted by its key alone`() async throws {
    let renewed = try authority.issue("renewed", key: leaf.key)
    let chain = try authority.chain(renewed)
    try await upload(to: chain, SecurityPolicy(.publicKey, pins: pin(leaf), roots: roots), isTrusted: true)
    try await upload(to: chain, SecurityPolicy(.certificate, pins: pin(leaf)), isTrusted: false)
  }

  @Test(arguments: [SecurityPolicy.PinningMode.publicKey, .certificate])
  func `a pinned certificate that only comes along proves nothing`(mode: SecurityPolicy.PinningMode) async throws {
    let pinned = try authority.issue("pinned")
    let stranger = try authority.issue("stranger")
    let chain = try authority.chain(stranger, pinned)
    try await upload(to: chain, SecurityPolicy(mode, pins: pin(pinned), roots: roots), isTrusted: false)
    try await upload(
      to: chain, SecurityPolicy(mode, pins: pin(pinned), roots: roots, allowsInvalidCertificates: true),
      isTrusted: false)
    // The additional certificate does no harm either.
    try await upload(to: chain, SecurityPolicy(mode, pins: pin(stranger), roots: roots), isTrusted: true)
  }

  @Test(arguments: [SecurityPolicy.PinningMode.publicKey, .certificate])
  func `another root with the same name is not the root`(mode: SecurityPolicy.PinningMode) async throws {
    let other = try CertificateAuthority()
    let forged = try other.issue("leaf")
    let chain = try other.chain(forged, authority.root)
    for allows in [false, true] {
      try await upload(
        to: chain,
        SecurityPolicy(mode, pins: pin(authority.root), roots: roots, allowsInvalidCertificates: allows),
        isTrusted: false)
    }
  }

  @Test(arguments: [SecurityPolicy.PinningMode.publicKey, .certificate])
  func `a pin does not make up for the wrong name`(mode: SecurityPolicy.PinningMode) async throws {
    let leaf = try authority.issue("elsewhere", names: "DNS:elsewhere.example")
    for allows in [false, true] {
      try await upload(
        to: authority.chain(leaf),
        SecurityPolicy(mode, pins: pin(leaf), roots: roots, allowsInvalidCertificates: allows), isTrusted: false)
    }
    try await upload(
      to: authority.chain(leaf),
      SecurityPolicy(mode, pins: pin(leaf), roots: roots, validatesDomainName: false), isTrusted: true)
  }

  // MARK: Pins of certificates

  @Test func `a pinned certificate is a root, wherever it stands in the chain`() async throws {
    let middle = try authority.issue("middle", isAuthority: true)
    let below = try authority.issue("below", by: middle)
    for pair in [below, middle, authority.root] {
      let policy = try SecurityPolicy(.certificate, pins: pin(pair))
      try await upload(to: authority.chain(below, middle), policy, isTrusted: true)
    }
    try await upload(
      to: authority.chain(below, middle), SecurityPolicy(.certificate, pins: pin(leaf)), isTrusted: false)
  }

  @Test(arguments: [SecurityPolicy.PinningMode.publicKey, .certificate])
  func `a development server that has signed its own certificate needs the pin`(
    mode: SecurityPolicy.PinningMode
  ) async throws {
    let own = try authority.issueSelfSigned("own")
    let other = try authority.issueSelfSigned("other")
    let chain = try authority.chain(own)
    try await upload(to: chain, SecurityPolicy(.none, roots: roots), isTrusted: false)
    try await upload(
      to: chain, SecurityPolicy(mode, pins: pin(own), allowsInvalidCertificates: true), isTrusted: true)
    try await upload(
      to: chain, SecurityPolicy(mode, pins: pin(other), allowsInvalidCertificates: true), isTrusted: false)
  }

  // MARK: Making a policy

  @Test func `a pin that cannot be decoded is reported when it is read`() throws {
    let folder = try TemporaryFolder()
    let files = [
      try folder.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: "broken.pem"),
      try folder.write("hello", to: "text.cer"), try folder.write(Data([0x30, 0x82]), to: "half.der"),
    ]
    for file in files {
      #expect(throws: HTTPError.self) { try X509Certificate.load(file) }
    }
    let error = #expect(throws: HTTPError.self) { try X509Certificate.load(folder.url("missing.pem")) }
    #expect(error?.kind == .fileFailed)
  }

  @Test func `pins are read from PEM, from DER, and from a folder of both`() throws {
    let folder = try TemporaryFolder()
    try Programs.run([
      "openssl", "x509", "-in", leaf.certificate.path, "-outform", "DER", "-out", folder.url("a.cer").path,
    ])
    try FileManager.default.copyItem(at: authority.root.certificate, to: folder.url("b.pem"))
    try folder.write("not to be read", to: "README")
    let expected = try pin(leaf) + pin(authority.root)
    #expect(try X509Certificate.load(folder.url) == expected)
    #expect(try X509Certificate.load(folder.url("a.cer")) == [expected[0]])
    let both = try authority.chain(leaf, authority.root).chain
    #expect(try X509Certificate.load(both) == expected)
  }

  @Test func `pinning wants pins, and https`() throws {
    #expect(throws: HTTPError.self) { try SecurityPolicy(.publicKey) }
    #expect(throws: HTTPError.self) { try SecurityPolicy(.none, pins: pin(leaf)) }
    let policy = try SecurityPolicy(.certificate, pins: pin(leaf))
    let error = #expect(throws: HTTPError.self) {
      try HTTPSessionManager(baseURL: URL(string: "http://localhost/"), policy: policy)
    }
    #expect(error?.kind == .badSecurityPolicy)
  }

  @Test func `a pinned session sends nothing without TLS, whatever a redirect says`() async throws {
    let chain = try authority.chain(leaf)
    let plain = try NginxServer()
    let server = try NginxServer(
      server: "location = /down { return 302 \(plain.url.absoluteString)method; }", certificate: chain)
    let session = try HTTPSessionManager(
      baseURL: server.tlsURL(), policy: SecurityPolicy(.certificate, pins: pin(leaf)))
    let down = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, to: session.url(for: "down")))
    }
    #expect(down?.kind == .badURL)
    let direct = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, to: plain.url)) }
    #expect(direct?.kind == .badURL)
    #expect(plain.folder.text(of: "access.log").isEmpty)
  }

  // MARK: TLS sessions

  /// Tests that only the session that has judged a chain resumes its TLS session. A resumed TLS session has no
  /// certificates to judge.
  @Test func `TLS is resumed by the session that has judged the chain, and by no other one`() async throws {
    let server = try NginxServer(
      server: """
        ssl_protocols TLSv1.3; keepalive_requests 1;
        location = /resumed { default_type text/plain; return 200 $ssl_session_reused; }
        """,
      certificate: authority.chain(leaf))
    let elsewhere = try CertificateAuthority()
    let stranger = try pin(elsewhere.issue("stranger"))
    let request = try HTTPRequest(.get, to: server.tlsURL().appending(path: "resumed"))
    var configuration = HTTPSessionConfiguration()
    // libcurl 7.88 does not resume TLS sessions with HTTP/2.
    configuration.httpVersion = .http1_1
    func connect(_ session: HTTPSessionManager) async throws -> String {
      String(decoding: try await session.data(for: request).value, as: UTF8.self)
    }
    let everybody = try SecurityPolicy(.none, roots: roots, allowsInvalidCertificates: true, validatesDomainName: false)
    let trusting = [
      everybody, try SecurityPolicy(.none, roots: roots), try SecurityPolicy(.publicKey, pins: pin(leaf), roots: roots),
      try SecurityPolicy(.certificate, pins: pin(leaf)),
    ]
    let refusing = [
      SecurityPolicy.system, try SecurityPolicy(.publicKey, pins: stranger, roots: roots),
      try SecurityPolicy(.certificate, pins: stranger),
    ]
    for policy in trusting {
      let session = try HTTPSessionManager(configuration: configuration, policy: policy)
      // Each new session has to judge the chain first, whatever other sessions have judged.
      #expect(try await connect(session) == ".")
      for _ in 0..<3 { #expect(try await connect(session) == "r") }
      for policy in refusing {
        let other = try HTTPSessionManager(configuration: configuration, policy: policy)
        for _ in 0..<2 {
          let error = await #expect(throws: HTTPError.self) { try await connect(other) }
          #expect(error?.kind == .serverCertificateUntrusted)
        }
      }
      #expect(try await connect(session) == "r")
    }
  }
}
