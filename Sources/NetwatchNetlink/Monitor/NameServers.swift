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

  /// Returns the servers in resolv.conf(5). systemd-resolved enters itself there, and keeps the servers that it asks in its own
  /// file.
  static func configured(
    resolvConf: String = files.resolvConf, resolved: String = files.resolved
  ) -> NameServers {
    let named = addresses(in: resolvConf)
    guard !named.isEmpty, named.allSatisfy(resolvedListener.contains) else { return NameServers(named) }
    let uplinks = addresses(in: resolved)
    return NameServers(uplinks.isEmpty ? named : uplinks)
  }

  private init(_ servers: [InternetAddress]) {
    addresses = servers.filter { !$0.isLoopback }
    hasLocal = servers.contains(where: \.isLoopback)
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
