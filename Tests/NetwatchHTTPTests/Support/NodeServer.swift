import Foundation
import NetwatchHTTP
import NetwatchTestSupport

/// A server of HTTP/2, TLS or TCP by Node.js, with a certificate of its own. The program ends when the last reference
/// to this object is released.
final class NodeServer: Sendable {
  enum Kind: String, CaseIterable {
    case http2 = "require('http2').createSecureServer"
    case tls = "require('tls').createServer"
    case tcp = "require('net').createServer"
  }

  /// The authority and the certificate that all servers share.
  private static let identity = Result {
    let authority = try CertificateAuthority()
    authority.folder.removeAtExit()
    return (authority: authority, server: try authority.issue("server"))
  }

  let authority: CertificateAuthority
  let folder: TemporaryFolder
  private let port: LoopbackPort
  private let program: SpawnedServer
  private let kind: Kind

  var url: URL { URL(string: "\(kind == .tcp ? "http" : "https")://127.0.0.1:\(port.number)/")! }

  /// - Parameters:
  ///   - script: JavaScript that sets up the server, which is the constant `server`.
  ///   - kind: The protocol of the server. Default: HTTP/2.
  init(_ script: String, over kind: Kind = .http2) throws {
    self.kind = kind
    let (authority, pair) = try Self.identity.get()
    self.authority = authority
    folder = try TemporaryFolder()
    port = try LoopbackPort()
    try folder.write(
      """
      const fs = require('fs');
      const server = \(kind.rawValue)({
        key: fs.readFileSync(process.argv[3]), cert: fs.readFileSync(process.argv[4]) });
      server.on('error', error => { console.error(error); process.exit(1); });
      \(script)
      server.listen(Number(process.argv[2]), '127.0.0.1');
      process.stdin.on('end', () => process.exit(0)).on('data', () => process.exit(0));
      """, to: "server.js")
    program = try SpawnedServer(
      "node",
      ["/usr/bin/env", "node", folder.file("server.js"), "\(port.number)", pair.key.path, pair.certificate.path],
      ports: [port.number])
  }

  /// Lets the server run on one processor, ahead of everything else that runs there.
  func goesFirst(on processor: String) throws { try program.goesFirst(on: processor) }

  /// Makes a session that trusts the server.
  func session(_ change: (inout HTTPSessionConfiguration) -> Void = { _ in }) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    change(&configuration)
    let root = try X509Certificate.load(authority.root.certificate)
    return try HTTPSessionManager(
      configuration: configuration, policy: SecurityPolicy(.none, roots: .certificates(root)))
  }
}
