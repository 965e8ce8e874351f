import Foundation
import NetwatchTestSupport

/// The program `openssl s_server` on loopback. It answers each GET with a page about the connection.
final class OpenSSLServer {
  private let port: LoopbackPort
  private let program: SpawnedServer

  func url(host: String = "127.0.0.1") -> URL { URL(string: "https://\(host):\(port.number)/")! }

  /// - Parameters:
  ///   - certificate: The files of a chain and of its key.
  ///   - options: Further options of `openssl s_server`. Default: none.
  init(certificate: (chain: URL, key: URL), options: [String] = []) throws {
    port = try LoopbackPort()
    program = try SpawnedServer(
      "openssl", shell: "openssl s_server \"$@\" </dev/null >/dev/null 2>&1",
      [
        "-accept", "127.0.0.1:\(port.number)", "-cert", certificate.chain.path, "-cert_chain", certificate.chain.path,
        "-key", certificate.key.path, "-www",
      ] + options, ports: [port.number])
  }
}
