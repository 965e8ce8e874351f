import Foundation
import Glibc
import NetwatchTestSupport

/// Agrees on HTTP/2 and, when the client has said something, answers what a test says, whatever that is: openssl's server.
/// It goes with its last reference.
final class HTTP2Server {
  private let port: LoopbackPort
  private let folder: TemporaryFolder
  private let program: SpawnedServer

  var url: URL { URL(string: "https://127.0.0.1:\(port.number)/")! }

  /// - Parameter hangsUp: whether it closes behind the answer.
  init(_ certificate: CertificateAuthority.Pair, answer: [UInt8], hangsUp: Bool = false) throws {
    folder = try TemporaryFolder()
    port = try LoopbackPort()
    try folder.write(Data(answer), to: "answer")
    // It says what it reads from its standard input: nothing, until there is something from the client.
    program = try SpawnedServer(
      "openssl",
      [
        "/bin/sh", "-c",
        """
        cd "$1"
        mkfifo words
        openssl s_server -accept "127.0.0.1:$2" -cert "$3" -key "$4" -alpn h2 -quiet <words >heard 2>errors &
        server=$!
        exec 9>words
        ( until [ -s heard ]; do sleep 0.01; done; cat answer >&9; [ "$5" = no ] || { exec 9>&-; sleep 0.2; kill -9 $server; } ) &
        answering=$!
        read -r end
        kill -9 $server $answering
        wait
        """, "sh", folder.path, "\(port.number)", certificate.certificate.path, certificate.key.path,
        hangsUp ? "yes" : "no",
      ], ports: [port.number])
  }
}
