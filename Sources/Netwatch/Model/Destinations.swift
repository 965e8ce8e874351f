/// The addresses of a target. A path has to lead to one of them.
package struct Destinations: Hashable, Sendable {
  package private(set) var ipv4: [InternetAddress] = []
  package private(set) var ipv6: [InternetAddress] = []

  /// The largest number of addresses per family. More addresses of one host would only cost lookups.
  private static let limit = 16

  /// Whether the addresses stand for the internet, one of each family at a time. Otherwise a path to any of them is enough.
  package private(set) var isInternet = false

  /// The addresses that stand for the internet in questions to the kernel. No packet is ever sent there.
  ///
  /// Documentation addresses (RFC 5737, RFC 3849, RFC 9637) come first: nobody has them, so the default route leads there.
  /// Laboratories do use them. An address that lies on a link of this machine proves nothing, and the next one is used.
  ///
  /// The last address of each family is that of a DNS root server (a.root-servers.net). It is used if the documentation
  /// address is refused or has no route: filters refuse those addresses, and a router with all routes of the internet has
  /// none for them.
  package static let internet = {
    var destinations = Destinations([
      .v4(0xc000_0201), .v4(0xc633_6401), .v4(0xcb00_7101), .v4(0xc629_0004),
      .v6(0x2001_0db8_0000_0000_0000_0000_0000_0001), .v6(0x3fff_0000_0000_0000_0000_0000_0000_0001),
      .v6(0x2001_0503_ba3e_0000_0000_0000_0002_0030),
    ])
    destinations.isInternet = true
    return destinations
  }()

  /// Returns the address of the DNS root server among the addresses that stand for the internet.
  package static func fallback(_ family: AddressFamily) -> InternetAddress {
    let addresses = internet[family]
    return addresses[addresses.count - 1]
  }

  /// The longest prefix of a default route that consists of pieces, such as 2000::/3.
  static let defaultPrefixLength: UInt8 = 3

  package init(_ addresses: [InternetAddress] = []) {
    for address in addresses where self[address.family].count < Self.limit && !self[address.family].contains(address) {
      switch address.family {
      case .ipv4: ipv4.append(address)
      case .ipv6: ipv6.append(address)
      }
    }
  }

  /// Creates the addresses of a target. There are none for a host until its name has been resolved.
  package init(of target: NetworkTarget) {
    switch target {
    case .internet: self = .internet
    case .address(let address, _): self.init([address])
    case .host: self.init()
    }
  }

  package subscript(family: AddressFamily) -> [InternetAddress] { family == .ipv4 ? ipv4 : ipv6 }

  package var isEmpty: Bool { ipv4.isEmpty && ipv6.isEmpty }
  /// The families that have an address.
  package var families: AddressFamilies {
    (ipv4.isEmpty ? [] : AddressFamilies.ipv4).union(ipv6.isEmpty ? [] : .ipv6)
  }
  package var all: [InternetAddress] { ipv4 + ipv6 }
}
