/// A machine on a link, as in the kernel's table of neighbours.
package struct Neighbour: Hashable, Sendable {
  package let interfaceIndex: Int32
  package let address: IPAddress

  package init(interfaceIndex: Int32, address: IPAddress) {
    self.interfaceIndex = interfaceIndex
    self.address = address
  }
}
