import Netwatch
import NetwatchEventLoop

/// The name servers that this machine is configured to use.
struct NameServers: Equatable {
  /// The most servers that are read. glibc uses fewer (MAXNS of resolv.h); systemd-resolved may have more than glibc.
  private static let limit = 16
  private static let longestFile = 16_384
  /// The files with the configuration: resolv.conf(5), and that of systemd-resolved.
  static let files = (resolvConf: "/etc/resolv.conf", resolved: "/run/systemd/resolve/resolv.conf")
  private static let resolvedListener: [InternetAddress] = [.v4(0x7f00_0035), .v4(0x7f00_0036)]

  /// The addresses of servers on other machines.
  let addresses: [InternetAddress]
  /// Whether there is a server on this machine, which does not tell which servers it asks.
  let hasLocal: Bool
  /// Whether programs ask systemd-resolved on this machine, which asks the servers in ``addresses``.
  let areBehindResolved: Bool
  /// The only server that can have answered; nil if there are several.
  let only: InternetAddress?

  /// No server.
  static let none = NameServers([])

  /// Returns the servers in resolv.conf(5). systemd-resolved enters itself there, and keeps the servers that it asks in its own
  /// file.
  static func configured(
    resolvConf: String = files.resolvConf, resolved: String = files.resolved
  ) -> NameServers {
    let named = addresses(in: resolvConf)
    guard !named.isEmpty, named.allSatisfy(resolvedListener.contains) else { return NameServers(named) }
    let uplinks = addresses(in: resolved)
    return uplinks.isEmpty ? NameServers(named) : NameServers(uplinks, areBehindResolved: true)
  }

  private init(_ servers: [InternetAddress], areBehindResolved: Bool = false) {
    addresses = servers.filter { !$0.isLoopback }
    hasLocal = servers.contains(where: \.isLoopback)
    self.areBehindResolved = areBehindResolved
    only = servers.count == 1 ? servers[0] : nil
  }

  // MARK: systemd-resolved

  /// The socket of systemd-resolved.
  private static let resolvedSocket = "/run/systemd/resolve/io.systemd.Resolve"
  /// Where resolved.conf(5) and its parts are, those first that count least.
  private static let resolvedFolders = ["/usr/lib/systemd", "/usr/local/lib/systemd", "/run/systemd", "/etc/systemd"]

  /// Whether systemd-resolved runs and is configured to ask its servers by DNS over TLS only.
  static var asksByTLSOnly: Bool {
    guard (try? UnixSocket.connect(to: resolvedSocket)) != nil else { return false }
    return asksByTLSOnly(resolvedFolders)
  }

  /// Reads the setting `DNSOverTLS=` of resolved.conf(5), of which the last one counts: the main file, then parts by their names.
  static func asksByTLSOnly(_ folders: [String]) -> Bool {
    var parts: [String: String] = [:]
    for folder in folders {
      for name in FileDescriptor.names(inFolder: "\(folder)/resolved.conf.d") where name.hasSuffix(".conf") {
        parts[name] = "\(folder)/resolved.conf.d/\(name)"
      }
    }
    let main = folders.reversed().map { "\($0)/resolved.conf" }.first { FileDescriptor.text(of: $0) != nil }
    let files = [main].compactMap(\.self) + parts.sorted { $0.key < $1.key }.map(\.value)
    let values = files.flatMap { file in
      (FileDescriptor.text(of: file, capacity: longestFile) ?? "").split(whereSeparator: \.isNewline).compactMap(
        Self.tlsSetting)
    }
    return values.last ?? false
  }

  /// Reads `DNSOverTLS=yes`; nil for another line.
  private static func tlsSetting(in line: Substring) -> Bool? {
    let sides = line.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
    guard sides.count == 2, sides[0] == "dnsovertls" else { return nil }
    return ["yes", "y", "true", "t", "on", "1"].contains(sides[1])
  }

  private static func addresses(in path: String) -> [InternetAddress] {
    let text = FileDescriptor.text(of: path, capacity: longestFile) ?? ""
    return Array(text.split(whereSeparator: \.isNewline).lazy.compactMap(Self.address).prefix(limit))
  }

  /// Parses `nameserver 192.0.2.1`, or an IPv6 address with its link: `nameserver fe80::1%eth0`.
  private static func address(in line: Substring) -> InternetAddress? {
    let words = line.split { $0 == " " || $0 == "\t" }
    guard words.count > 1, words[0] == "nameserver" else { return nil }
    return InternetAddress(String(words[1].prefix { $0 != "%" }))
  }
}
