/// An address family: IPv4 or IPv6. Routes are looked up in each family separately.
public enum AddressFamily: Hashable, Sendable, CaseIterable {
  /// IPv4 or IPv6.
  case ipv4, ipv6
}

/// A set of address families: none, one or both.
package struct AddressFamilies: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  package static var ipv4: AddressFamilies { AddressFamilies(rawValue: 1) }
  package static var ipv6: AddressFamilies { AddressFamilies(rawValue: 2) }
  package static var both: AddressFamilies { AddressFamilies(rawValue: 3) }
  package static var none: AddressFamilies { AddressFamilies(rawValue: 0) }

  package init(_ family: AddressFamily) {
    self = family == .ipv4 ? .ipv4 : .ipv6
  }

  package func contains(_ family: AddressFamily) -> Bool { contains(AddressFamilies(family)) }
  /// Whether the set is empty. Declared here because the protocol's own property goes by a witness table in other modules.
  package var isEmpty: Bool { rawValue == 0 }
}
