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
  /// The program that asks the system for a name: a path, or a name in the directories of programs. Nil if none may be started:
  /// then the system is not asked.
  package var getent: String? = "getent"
  /// How long the system may take. Default 5 s.
  package var systemTimeout: Duration = .seconds(5)
  /// How long the name servers may take for one lookup, with all their tries. Default 5 s.
  package var timeout: Duration = .seconds(5)
  /// How long an answer is good for, unless it says less itself. Default 60 s.
  package var refresh: Duration = .seconds(60)

  package init() {}
}
