import NetwatchTestSupport

/// The program microsocks on loopback: a SOCKS 5 proxy that makes its connections from an address of its own.
final class MicrosocksServer {
  /// The address from which the proxy makes its connections.
  static let address = "127.0.0.3"

  private let loopback: LoopbackPort
  private let program: SpawnedServer

  var port: Int { Int(loopback.number) }

  /// - Parameter credential: The user name and password that the proxy asks for. Nil if it serves everybody.
  init(credential: (user: String, password: String)? = nil) throws {
    loopback = try LoopbackPort()
    let secrets = credential.map { ["-u", $0.user, "-P", $0.password] } ?? []
    program = try SpawnedServer(
      "microsocks", shell: "microsocks \"$@\" >/dev/null 2>&1",
      ["-i", "127.0.0.1", "-p", "\(loopback.number)", "-b", Self.address] + secrets, ports: [loopback.number])
  }
}
