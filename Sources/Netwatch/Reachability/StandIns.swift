/// The addresses that stand for the internet in questions to the kernel. No packet is ever sent there.
///
/// First come documentation addresses (RFC 5737, RFC 3849, RFC 9637): nobody has them, so that the default route leads there.
/// Laboratories do have them: one that lies on a link of this machine says nothing, and the next one stands in. The last
/// address of each family is that of a DNS root server (a.root-servers.net), which is asked if the documentation address is
/// refused or has no route: filters refuse those addresses, and a router with all routes of the internet has none for them.
package enum StandIns {
  package static let ipv4: [IPAddress] = [.v4(0xc000_0201), .v4(0xc633_6401), .v4(0xcb00_7101), .v4(0xc629_0004)]
  package static let ipv6: [IPAddress] = [
    .v6(0x2001_0db8_0000_0000_0000_0000_0000_0001), .v6(0x3fff_0000_0000_0000_0000_0000_0000_0001),
    .v6(0x2001_0503_ba3e_0000_0000_0000_0002_0030),
  ]
  /// The position of the DNS root server.
  static let lastIPv4 = Int8(3)
  static let lastIPv6 = Int8(2)

  package static func addresses(_ family: AddressFamily) -> [IPAddress] { family == .ipv4 ? ipv4 : ipv6 }
  static func last(_ family: AddressFamily) -> Int8 { family == .ipv4 ? lastIPv4 : lastIPv6 }

  /// The longest prefix that a default route in pieces consists of, such as 2000::/3.
  static let defaultPrefixLength: UInt8 = 3
}
