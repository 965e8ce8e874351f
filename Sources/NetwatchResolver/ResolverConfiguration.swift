import Netwatch

/// How host names are looked up.
package struct ResolverConfiguration: Hashable, Sendable {
  /// A name server.
  package struct Server: Hashable, Sendable {
    package var address: IPAddress
    package var port: UInt16

    package init(_ address: IPAddress, port: UInt16 = 53) {
      self.address = address
      self.port = port
    }
  }

  /// Who is asked. Empty: those that `resolvConf` names.
  package var servers: [Server] = []
  /// Where the system's name servers and search domains stand.
  package var resolvConf = "/etc/resolv.conf"
  /// How long one lookup may take, with all its tries. Default 5 s.
  package var timeout: Duration = .seconds(5)
  /// How long an answer is good for, unless it says less itself. Default 60 s.
  package var refresh: Duration = .seconds(60)

  package init() {}
}
