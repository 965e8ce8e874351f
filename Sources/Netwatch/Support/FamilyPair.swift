/// One value for each family.
package struct FamilyPair<Value> {
  package var ipv4: Value
  package var ipv6: Value

  package init(_ value: Value) {
    ipv4 = value
    ipv6 = value
  }

  package subscript(family: AddressFamily) -> Value {
    get { family == .ipv4 ? ipv4 : ipv6 }
    _modify { if family == .ipv4 { yield &ipv4 } else { yield &ipv6 } }
  }
}

extension FamilyPair: Sendable where Value: Sendable {}
