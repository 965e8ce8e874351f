import Foundation
import Glibc
import NetwatchTestSupport

/// An HTTP/2 server that sends the bytes that a test gives, valid or not, after the client has sent something. The
/// program is `openssl s_server`; it ends when the last reference to this object is released.
final class HTTP2Server {
  private let port: LoopbackPort
  private let folder: TemporaryFolder
  private let program: SpawnedServer

  var url: URL { URL(string: "https://127.0.0.1:\(port.number)/")! }

  /// - Parameter hangsUp: Whether the server is killed, 0.2 seconds after the answer.
  init(_ certificate: CertificateAuthority.Pair, answer: [UInt8], hangsUp: Bool = false) throws {
    folder = try TemporaryFolder()
    port = try LoopbackPort()
    try folder.write(Data(answer), to: "answer")
    // `openssl s_server` sends what it reads from its standard input. The script writes nothing there until the client
    // has sent something.
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
