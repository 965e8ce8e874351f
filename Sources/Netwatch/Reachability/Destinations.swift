/// The addresses that a path has to lead to one of.
package struct Destinations: Hashable, Sendable {
  package var ipv4: [IPAddress] = []
  package var ipv6: [IPAddress] = []

  /// More addresses of one host would only cost lookups.
  private static let limit = 16

  /// They stand for the internet, one of each family at a time; else a path to any of them will do.
  package private(set) var areStandIns = false

  package static let internet = {
    var destinations = Destinations(StandIns.ipv4 + StandIns.ipv6)
    destinations.areStandIns = true
    return destinations
  }()

  package init(_ addresses: [IPAddress] = []) {
    for address in addresses where self[address.family].count < Self.limit && !self[address.family].contains(address) {
      switch address.family {
      case .ipv4: ipv4.append(address)
      case .ipv6: ipv6.append(address)
      }
    }
  }

  /// Nothing for a host, as long as its name has not been resolved.
  package init(of target: NetworkTarget) {
    switch target {
    case .internet: self = .internet
    case .address(let address, _): self.init([address])
    case .host: self.init()
    }
  }

  package subscript(family: AddressFamily) -> [IPAddress] { family == .ipv4 ? ipv4 : ipv6 }

  package var families: AddressFamilies {
    var families = AddressFamilies()
    if !ipv4.isEmpty { families.insert(.ipv4) }
    if !ipv6.isEmpty { families.insert(.ipv6) }
    return families
  }

  package var isEmpty: Bool { ipv4.isEmpty && ipv6.isEmpty }
  package var all: [IPAddress] { ipv4 + ipv6 }
}
