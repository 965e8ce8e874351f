import NetwatchTestSupport

/// microsocks on loopback: a proxy that speaks SOCKS 5 and leaves from an address of its own.
final class MicrosocksServer {
  /// Where it makes its connections from.
  static let address = "127.0.0.3"

  private let loopback: LoopbackPort
  private let program: SpawnedServer

  var port: Int { Int(loopback.number) }

  /// - Parameter credential: A user and a password; nil if it serves everybody.
  init(credential: (user: String, password: String)? = nil) throws {
    loopback = try LoopbackPort()
    let secrets = credential.map { ["-u", $0.user, "-P", $0.password] } ?? []
    program = try SpawnedServer(
      "microsocks", shell: "microsocks \"$@\" >/dev/null 2>&1",
      ["-i", "127.0.0.1", "-p", "\(loopback.number)", "-b", Self.address] + secrets, ports: [loopback.number])
  }
}
