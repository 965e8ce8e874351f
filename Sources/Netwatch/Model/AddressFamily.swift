/// One of the two families that routes are looked up in.
public enum AddressFamily: Hashable, Sendable, CaseIterable {
  case ipv4, ipv6
}

/// None, one or both families.
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
  /// As the protocol has it, but not by way of its witness table where another module asks.
  package var isEmpty: Bool { rawValue == 0 }
}
