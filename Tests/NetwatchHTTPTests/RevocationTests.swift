import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of revoked certificates, and of the checks of an app.
@Suite(.timeLimit(.minutes(5))) struct RevocationTests {
  private let authority: CertificateAuthority
  private let roots: SecurityPolicy.Roots

  init() throws {
    authority = try CertificateAuthority()
    roots = .certificates(try X509Certificate.load(authority.root.certificate))
  }

  private func get(_ server: OpenSSLServer, _ policy: SecurityPolicy) async throws -> HTTPReply<Data> {
    try await HTTPSessionManager(policy: policy).data(for: server.url())
  }

  private func failure(_ server: OpenSSLServer, _ policy: SecurityPolicy) async throws -> HTTPError {
    let error = try #require(await #expect(throws: HTTPError.self) { try await get(server, policy) })
    #expect(error.kind == .serverCertificateUntrusted)
    return error
  }

  private func policy(_ lists: [RevocationList]) throws -> SecurityPolicy {
    try SecurityPolicy(.none, roots: roots, revocationLists: lists)
  }

  @Test func `a revoked certificate is refused, and another one of the authority is not`() async throws {
    let (good, bad) = (try authority.issue("good"), try authority.issue("bad"))
    let lists = try authority.revoke(bad)
    let (goodServer, badServer) = (
      try OpenSSLServer(certificate: authority.chain(good)), try OpenSSLServer(certificate: authority.chain(bad))
    )
    #expect(try await get(goodServer, policy(lists)).response.status == .ok)
    let error = try await failure(badServer, policy(lists))
    #expect(error.tlsFailure?.reason == .certificateRevoked)
    #expect(error.tlsFailure?.subject == "CN=bad" && error.message.contains("'CN=Test Root'"), "\(error.message)")
    // Without a revocation list, nobody looks for a revocation.
    #expect(try await get(badServer, policy([])).response.status == .ok)
    // A policy that allows invalid certificates does not allow a revoked one.
    let forgiving = try SecurityPolicy(
      .publicKey, pins: try X509Certificate.load(bad.certificate), roots: roots, allowsInvalidCertificates: true,
      revocationLists: lists)
    #expect(try await failure(badServer, forgiving).tlsFailure?.reason == .certificateRevoked)
    // A call of `evaluate` judges as a handshake does.
    let judged = #expect(throws: HTTPError.self) {
      try policy(lists).evaluate(X509Certificate.load(bad.certificate), for: "localhost")
    }
    #expect(judged?.tlsFailure?.reason == .certificateRevoked)
  }

  @Test func `an authority that was revoked signs for nobody, and one without a list does`() throws {
    let middle = try authority.issue("middle", isAuthority: true)
    let leaf = try authority.issue("leaf", by: middle)
    let chain = try [leaf, middle].map { try X509Certificate.load($0.certificate)[0] }
    let ofMiddle = try authority.revocationList(by: middle)
    try policy(ofMiddle).evaluate(chain, for: "localhost")
    let ofRoot = try authority.revoke(middle)
    let error = #expect(throws: HTTPError.self) {
      try policy(ofMiddle + ofRoot).evaluate(chain, for: "localhost")
    }
    #expect(error?.tlsFailure?.reason == .certificateRevoked && error?.tlsFailure?.subject == "CN=middle")
    // The authority that has signed the server's own certificate must have a list.
    let unknown = #expect(throws: HTTPError.self) {
      try policy(authority.revocationList(by: authority.root)).evaluate(chain, for: "localhost")
    }
    #expect(unknown?.tlsFailure?.reason == .revocationUnknown)
    #expect(unknown?.message.contains("no revocation list of 'CN=middle'") == true)
  }

  @Test func `a list that is out of date, or of another authority, is no list`() throws {
    let leaf = try X509Certificate.load(authority.issue("leaf").certificate)
    let old = try authority.revocationList(by: authority.root, days: -2 ... -1)
    let error = #expect(throws: HTTPError.self) { try policy(old).evaluate(leaf, for: "localhost") }
    #expect(error?.tlsFailure?.reason == .revocationUnknown && error?.message.contains("expired") == true)
    // This list is by an authority with the same name and another key.
    let other = try CertificateAuthority()
    let foreign = try other.revocationList(by: other.root)
    let wrong = #expect(throws: HTTPError.self) { try policy(foreign).evaluate(leaf, for: "localhost") }
    #expect(wrong?.tlsFailure?.reason == .revocationUnknown, "\(String(describing: wrong))")
  }

  @Test func `lists are read from PEM and from DER, and nothing else is`() throws {
    let lists = try authority.revocationList(by: authority.root)
    let pem = try String(contentsOf: authority.folder.url("crl.pem"), encoding: .utf8)
    #expect(try RevocationList.all(pem: "text\n\(pem)text\n\(pem)") == lists + lists)
    let der = authority.folder.url("crl.der")
    try lists[0].der.write(to: der)
    #expect(try RevocationList.load(der) == lists)
    for data in [Data(), Data("x".utf8), lists[0].der + [0], lists[0].der.dropLast()] {
      let error = #expect(throws: HTTPError.self) { try RevocationList(der: data) }
      #expect(error?.kind == .badSecurityPolicy)
    }
    let file = try authority.folder.write("no list", to: "none.pem")
    #expect(#expect(throws: HTTPError.self) { try RevocationList.load(file) }?.kind == .badSecurityPolicy)
    let missing = authority.folder.url("missing.pem")
    #expect(#expect(throws: HTTPError.self) { try RevocationList.load(missing) }?.kind == .fileFailed)
  }

  @Test func `whatever is read as a list, nothing happens to the reader`() throws {
    let der = try authority.revoke(authority.issue("x"))[0].der
    var random = SplitMix(seed: 11)
    for _ in 0..<2_000 {
      var bytes = [UInt8](der)
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      let length = Int.random(in: 0...bytes.count, using: &random)
      let data = Data(bytes.prefix(Bool.random(using: &random) ? length : bytes.count))
      if let list = try? RevocationList(der: data) { #expect(list.der == data) }
    }
  }

  // MARK: Checks

  private struct Refusal: Error, CustomStringConvertible {
    var description: String { "not today" }
  }

  @Test func `an app's own check sees the whole chain after everything else, and can refuse it`() async throws {
    let middle = try authority.issue("middle", isAuthority: true)
    let leaf = try authority.issue("leaf", by: middle)
    let expected = try [leaf, middle, authority.root].map { try X509Certificate.load($0.certificate)[0] }
    let server = try OpenSSLServer(certificate: authority.chain(leaf, middle))
    let seen = Box<[([X509Certificate], String)]>([])
    let refuses = Box(false)
    let policy = try SecurityPolicy(.none, roots: roots) { chain, host in
      seen.change { $0.append((chain, host)) }
      if refuses.now { throw Refusal() }
    }
    #expect(try await get(server, policy).response.status == .ok)
    #expect(seen.now.map(\.0) == [expected] && seen.now.map(\.1) == ["127.0.0.1"])
    refuses.change { $0 = true }
    let error = try await failure(server, policy)
    #expect(error.tlsFailure?.reason == .checkFailed && error.tlsFailure?.subject == "CN=leaf")
    #expect(error.message.hasSuffix(": not today"), "\(error.message)")
    // The check is not called for a chain that is refused without it.
    let count = seen.now.count
    let strict = try SecurityPolicy(
      .publicKey, keyPins: [PublicKeyPin(X509Certificate.load(authority.issue("other").certificate)[0])], roots: roots,
      check: policy.check)
    #expect(try await failure(server, strict).tlsFailure?.reason == .noPinMatched)
    #expect(seen.now.count == count)
  }

  @Test func `a check can stand in the place of the other judgements, and wants TLS`() async throws {
    let own = try authority.issueSelfSigned("own", names: "DNS:elsewhere")
    let server = try OpenSSLServer(certificate: authority.chain(own))
    let known = try X509Certificate.load(own.certificate)[0]
    let policy = try SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false) { chain, _ in
      guard chain.first == known else { throw Refusal() }
    }
    #expect(try await get(server, policy).response.status == .ok)
    let other = try OpenSSLServer(certificate: authority.chain(authority.issueSelfSigned("other")))
    #expect(try await failure(other, policy).tlsFailure?.reason == .checkFailed)
    let plain = await #expect(throws: HTTPError.self) {
      try await HTTPSessionManager(policy: policy).data(for: "http://127.0.0.1:9/")
    }
    #expect(plain?.kind == .badURL)
  }
}

extension CertificateAuthority {
  /// Makes the revocation list of an authority. The list is empty unless ``revoke(_:)`` was called.
  ///
  /// - Parameter days: The first and the last day of validity, relative to now.
  fileprivate func revocationList(by issuer: Pair, days: ClosedRange<Int> = -1...30) throws -> [RevocationList] {
    try openssl(
      "ca -gencrl -config ca.cnf -cert \(issuer.certificate.path) -keyfile \(issuer.key.path) -out crl.pem "
        + "-md sha256 -crl_lastupdate \(Self.date(days.lowerBound)) -crl_nextupdate \(Self.date(days.upperBound))")
    return try RevocationList.load(folder.url("crl.pem"))
  }

  /// Revokes a certificate that the root has issued.
  ///
  /// - Returns: The revocation list of the root.
  fileprivate func revoke(_ pair: Pair) throws -> [RevocationList] {
    try openssl(
      "ca -config ca.cnf -cert \(root.certificate.path) -keyfile \(root.key.path) -revoke \(pair.certificate.path)")
    return try revocationList(by: root)
  }
}
