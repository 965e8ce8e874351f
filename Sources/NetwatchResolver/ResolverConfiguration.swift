import Netwatch
import NetwatchEventLoop

/// The settings of host name lookups.
package struct ResolverConfiguration: Hashable, Sendable {
  /// A name server.
  package struct Server: Hashable, Sendable {
    /// The address of the server.
    package var address: InternetAddress
    /// The port of the server. Default: 53.
    package var port: UInt16

    /// Creates a server.
    package init(_ address: InternetAddress, port: UInt16 = 53) {
      self.address = address
      self.port = port
    }
  }

  /// The servers to ask. Default: empty, which means those in `resolvConf`.
  package var servers: [Server] = []
  /// The link over which the servers are asked, for a program that may bind sockets to it. Default: nil, the routes decide.
  package var interface: InterfaceName?
  /// The file with the system's name servers and search domains. Default: /etc/resolv.conf.
  package var resolvConf = "/etc/resolv.conf"
  /// The file that names the sources of host names, nsswitch.conf(5). Default: /etc/nsswitch.conf.
  package var nsswitch = "/etc/nsswitch.conf"
  /// The socket of systemd-resolved, which is asked instead of starting a program if ``nsswitch`` names it as a source. Default:
  /// /run/systemd/resolve/io.systemd.Resolve.
  package var resolved = "/run/systemd/resolve/io.systemd.Resolve"
  /// The program that asks the system for a name: a path, or a name that is searched for in the program directories. Nil if no
  /// program may be started; then the system is not asked. Default: getent.
  package var getent: String? = "getent"
  /// The time that the system has for an answer. Default: 5 seconds.
  package var systemTimeout: Duration = .seconds(5)
  /// The time that the name servers have for one lookup, including all retries. Default: 5 seconds.
  package var timeout: Duration = .seconds(5)
  /// The longest time for which an answer is used, unless its own time to live is shorter. Default: 60 seconds.
  package var refresh: Duration = .seconds(60)

  /// Creates settings with their defaults.
  package init() {}
}

extension ResolverConfiguration {
  /// Whether programs of this machine ask systemd-resolved for host names, and not only its stub by DNS.
  var usesResolved: Bool {
    let text = FileDescriptor.text(of: nsswitch, capacity: 16_384) ?? ""
    return text.split(whereSeparator: \.isNewline).contains { line in
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      return words.first == "hosts:" && words.contains("resolve")
    }
  }
}
